// `splitnic`: look at a running program and steer it, through its control socket; measure the
// fabric. docs/CLI.md
#include <cstdio>
#include <string>

#include "control/cli_app.h"
#include "control/common_options.h"
#include "tools/bench_command.h"
#include "tools/commands.h"

namespace {

namespace control = splitnic::control;
namespace tools = splitnic::tools;

struct Arguments {
  std::string socket;
  bool json = false;
  bool watch = false;
  std::string what, value;
  std::string count = "5";
  tools::BenchArguments bench;
};

void add_socket_option(CLI::App& command, Arguments& into) {
  command
      .add_option("--control", into.socket,
                  "Control socket of the program (default: the only one in /run/splitnic)")
      ->type_name("PATH");
}

void add_commands(CLI::App& app, Arguments& into) {
  app.require_subcommand(1);
  auto* show = app.add_subcommand("show", "Role, peers, state, channels, pools, LAN ports, links");
  show->add_flag("--json", into.json, "As JSON");
  auto* stats = app.add_subcommand("stats", "Every counter, by its name");
  stats->add_flag("--json", into.json, "One flat object, name to number");
  stats->add_flag("--watch", into.watch, "Again every second, until interrupted");
  auto* set = app.add_subcommand("set", "Change the NIC, from the host's side");
  set->add_option("what", into.what, "mac, mtu, filter or link")->required()->type_name("");
  set->add_option("value", into.value, "A MAC; a number; promisc or normal; up or down")
      ->required()
      ->type_name("");
  auto* ping = app.add_subcommand("ping", "Echo round trips to the peer: min, median, max");
  ping->add_option("--count", into.count, "How many (default 5)")->type_name("N");
  for (CLI::App* command : {show, stats, set, ping}) add_socket_option(*command, into);
  tools::add_bench(app, into.bench);
  // Known, so that they can say what they are; no part of the help until they work.
  for (const char* name : {"conform", "keygen"}) {
    app.add_subcommand(name, "")->group("")->prefix_command()->set_help_flag("");
  }
}

// An empty text: the value can be sent.
std::string check_set(const std::string& what, const std::string& value) {
  if (what == "mac") {
    const auto mac = control::parse_mac(value);
    return mac ? "" : mac.error().text();
  }
  if (what == "mtu") {
    const auto mtu = control::number_option("set mtu", value, control::kMtuMin, control::kMtuMax);
    return mtu ? "" : mtu.error().text();
  }
  if (what == "link") return value == "up" || value == "down" ? "" : "set link: up or down";
  if (what == "filter") {
    return value == "promisc" || value == "normal" ? "" : "set filter: promisc or normal";
  }
  return "set: '" + what + "' is none of mac, mtu, filter and link";
}

int bad_usage(const std::string& why) {
  std::fputs(control::refuse(control::kExitUsage, "splitnic", why).text.c_str(), stderr);
  return control::kExitUsage;
}

int run_ping(const Arguments& typed) {
  const auto count = control::number_option("--count", typed.count, 1, control::kPingCountMax);
  if (!count) return bad_usage(count.error().text());
  control::Request request;
  request.command = control::Command::kPing;
  request.count = *count;
  // Each echo may take its three tries of half a second.
  const auto echoes = std::chrono::milliseconds(1500) * *count;
  return tools::ask_and_print(typed.socket, request, tools::kReplyTimeout + echoes);
}

int run_set(const Arguments& typed) {
  if (const std::string wrong = check_set(typed.what, typed.value); !wrong.empty()) {
    return bad_usage(wrong);
  }
  control::Request request;
  request.command = control::Command::kSet;
  request.what = typed.what;
  request.value = typed.value;
  return tools::ask_and_print(typed.socket, request);
}

int run(const std::string& command, const Arguments& typed) {
  if (command == "set") return run_set(typed);
  if (command == "ping") return run_ping(typed);
  if (command == "bench") {
    const auto options = tools::check_bench(typed.bench);
    return options ? tools::run_bench(*options) : bad_usage(options.error().text());
  }
  if (command == "stats" && typed.watch) return tools::watch_stats(typed.socket, typed.json);
  if (command == "show" || command == "stats") {
    control::Request request;
    request.command = command == "show" ? control::Command::kShow : control::Command::kStats;
    request.json = typed.json;
    return tools::ask_and_print(typed.socket, request);
  }
  return tools::fail(command + ": not available yet");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments typed;
  const auto app =
      control::make_app("splitnic", "Look at a splitnic program and steer it; measure the fabric.");
  add_commands(*app, typed);
  if (const auto refusal = control::run_parser(*app, argc, argv)) {
    std::fputs(refusal->text.c_str(), refusal->exit_code == control::kExitOk ? stdout : stderr);
    return refusal->exit_code;
  }
  return run(app->get_subcommands().front()->get_name(), typed);
}
