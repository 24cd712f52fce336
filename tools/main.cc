// `splitnic` shows and changes a running program through its control socket, makes keys, measures
// the fabric, sends datagrams over it, simulates fabrics, decrypts captures, and checks
// implementations of the protocol.
// docs/CLI.md
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "control/config/cli_app.h"
#include "control/config/flush_request.h"
#include "control/config/setting.h"
#include "control/config/values.h"
#include "control/daemon/report_exceptions.h"
#include "control/socket/unix_socket.h"
#include "tools/bench_command.h"
#include "tools/capture_command.h"
#include "tools/commands.h"
#include "tools/conform_command.h"
#include "tools/decrypt_command.h"
#include "tools/doctor.h"
#include "tools/key_commands.h"
#include "tools/list_command.h"
#include "tools/monitor_command.h"
#include "tools/nic_commands.h"
#include "tools/ping_command.h"
#include "tools/raw_command.h"
#include "tools/show_command.h"
#include "tools/sim_command.h"
#include "tools/sim_options.h"
#include "tools/stats_command.h"
#include "tools/topology_command.h"

namespace {

namespace control = splitnic::control;
namespace tools = splitnic::tools;

struct Arguments {
  std::string socket;
  bool json = false;
  std::string what, value;
  std::string node;
  std::string flush_pool, flush_queue = "0";
  control::FlushRequest flush;
  std::string key_file;
  tools::ShowArguments show;
  tools::StatsArguments stats;
  tools::TopologyArguments topology;
  tools::MonitorArguments monitor;
  tools::NicArguments nic;
  tools::CaptureArguments capture;
  tools::PingArguments ping;
  tools::ListArguments list;
  tools::BenchArguments bench;
  tools::RawArguments raw;
  tools::ConformArguments conform;
  tools::DecryptArguments decrypt;
  tools::SimArguments sim;
};

void add_socket_option(CLI::App& command, Arguments& into) {
  command
      .add_option(
          "--control", into.socket,
          "Control socket of the program, or its --name (default: each in /run/splitnic for a "
          "command that takes several programs, else the only one)")
      ->type_name("PATH");
}

void add_node(CLI::App& command, Arguments& into, const std::string& by_default) {
  command.add_option("node", into.node, "Its --name (default: " + by_default + ")")
      ->type_name("NODE");
}

CLI::App* add_flush(CLI::App& app, Arguments& into) {
  auto* flush = app.add_subcommand(
      "flush",
      "End one receive pool while the connection continues: the peer stops using it, and its "
      "memory is released");
  flush->add_option("pool", into.flush_pool, "Its number, as show prints it")
      ->required()
      ->type_name("POOL");
  flush->add_flag("--theirs", into.flush.is_of_peer, "A pool of the peer (side peer of show)");
  flush
      ->add_option("--queue", into.flush_queue,
                   control::with_default("The queue that has it", into.flush_queue))
      ->type_name("I");
  flush->add_option("--peer", into.flush.peer, "At an I/O unit: the host (default: the only one)")
      ->type_name("NAME");
  return flush;
}

void add_commands(CLI::App& app, Arguments& into) {
  app.require_subcommand(1);
  auto* show = tools::add_show(app, into.show);
  add_node(*show, into, "every program in /run/splitnic");
  tools::add_topology(*show, into.topology);
  auto* stats = tools::add_stats(app, into.stats);
  auto* monitor = tools::add_monitor(app, into.monitor);
  add_node(*monitor, into, "every program in /run/splitnic");
  auto* set = app.add_subcommand("set", "Change the NIC (on the host side)");
  set->add_option("what", into.what, "mac, mtu, filter or link")->required()->type_name("");
  set->add_option("value", into.value, "A MAC; a number; promisc or normal; up or down")
      ->required()
      ->type_name("");
  auto* move = app.add_subcommand("move", "Use another I/O unit of the host from now on");
  move->add_option("unit", into.value, "As --connect names it, or its number in that order, from 1")
      ->required()
      ->type_name("UNIT");
  auto* flush = add_flush(app, into);
  auto* doctor = app.add_subcommand(
      "doctor", "Check this machine for faults that stop a host or I/O unit, and print what to do");
  doctor
      ->add_option("unit", into.value, "The I/O unit to reach, udp://ADDRESS:PORT (default: none)")
      ->type_name("UNIT");
  auto* ping = tools::add_ping(app, into.ping);
  auto* peers = app.add_subcommand("peers", "The hosts that the I/O unit knows, attached or not");
  peers->add_flag("-j,--json", into.json, "As JSON");
  auto* reload = app.add_subcommand(
      "reload",
      "Read the configuration file again, and the hosts file of an I/O unit; after an error keep "
      "the settings in force");
  add_node(*reload, into, "the only program there is");
  auto* evict = app.add_subcommand(
      "evict",
      "Disconnect a host of the I/O unit and erase its session keys. It may come back: to keep it "
      "away, remove it from the hosts file and reload");
  evict->add_option("name", into.value, "Its name, as peers prints it")
      ->required()
      ->type_name("NAME");
  for (CLI::App* command :
       {show, stats, monitor, set, move, flush, doctor, ping, peers, reload, evict}) {
    add_socket_option(*command, into);
  }
  for (CLI::App* command : tools::add_nic_commands(app, into.nic)) {
    add_socket_option(*command, into);
  }
  add_socket_option(*tools::add_list(app, into.list), into);
  for (CLI::App* command : tools::add_capture(app, into.capture)) {
    add_socket_option(*command, into);
  }
  auto* keygen =
      app.add_subcommand("keygen", "Make a private key; with --out, print its public key");
  keygen
      ->add_option("--out", into.key_file,
                   "New file for the private key, readable by its owner only (default: print it)")
      ->type_name("FILE");
  auto* pubkey = app.add_subcommand("pubkey", "Print the public key of a private key");
  pubkey->add_option("file", into.key_file, "File of the private key")
      ->required()
      ->type_name("FILE");
  tools::add_bench(app, into.bench);
  tools::add_raw(app, into.raw);
  tools::add_conform(app, into.conform);
  tools::add_sim(app, into.sim);
  tools::add_decrypt(app, into.decrypt);
}

using tools::bad_usage;

// Returns the exit status of `command` with its checked arguments, or reports their error.
template <class Checked, class Function>
int run_checked(const Checked& checked, Function command) {
  return checked ? command(*checked) : bad_usage(checked.error().text());
}

int run_set(const Arguments& typed) {
  // The program would refuse it as bad usage, too.
  const auto setting = control::parse_setting(typed.what, typed.value);
  if (!setting) return bad_usage(setting.error().text());
  control::Request request;
  request.command = control::Command::kSet;
  request.what = typed.what;
  request.value = typed.value;
  return tools::ask_and_print(typed.socket, request);
}

int run_move(const Arguments& typed) {
  control::Request request;
  request.command = control::Command::kSet;
  request.what = control::kMoveSetting;
  request.value = typed.value;
  return tools::ask_and_print(typed.socket, request);
}

int run_flush(const Arguments& typed) {
  control::FlushRequest flush = typed.flush;
  const auto pool = control::number_option("flush: POOL", typed.flush_pool, 0, UINT32_MAX);
  if (!pool) return bad_usage(pool.error().text());
  const auto queue = control::number_option("--queue", typed.flush_queue, 0, UINT32_MAX);
  if (!queue) return bad_usage(queue.error().text());
  if (flush.peer.find(' ') != std::string::npos) {
    return bad_usage("--peer: '" + flush.peer + "' is not the name of a host");
  }
  flush.pool = *pool;
  flush.queue = *queue;
  control::Request request;
  request.command = control::Command::kSet;
  request.what = control::kFlushSetting;
  request.value = control::text_of(flush);
  return tools::ask_and_print(typed.socket, request);
}

int run_reload(const Arguments& typed) {
  control::Request request;
  request.command = control::Command::kReload;
  return run_checked(
      tools::socket_of("reload", typed.node, typed.socket),
      [&](const std::string& socket) { return tools::ask_and_print(socket, request); });
}

int run_show(const Arguments& typed) {
  return run_checked(
      tools::socket_of("show", typed.node, typed.socket),
      [&](const std::string& socket) { return tools::run_show(socket, typed.show); });
}

int run_monitor(const Arguments& typed) {
  return run_checked(
      tools::socket_of("monitor", typed.node, typed.socket),
      [&](const std::string& socket) { return tools::run_monitor(socket, typed.monitor); });
}

int run_evict(const Arguments& typed) {
  if (typed.value.empty()) return bad_usage("evict: the name is empty");
  control::Request request;
  request.command = control::Command::kEvict;
  request.value = typed.value;
  return tools::ask_and_print(typed.socket, request);
}

int run(const std::string& command, const Arguments& typed) {
  if (command == "set") return run_set(typed);
  if (command == "move") return run_move(typed);
  if (command == "flush") return run_flush(typed);
  if (command == "doctor") return tools::run_doctor(typed.socket, typed.value);
  if (command == "ping") return tools::run_ping(typed.socket, typed.ping);
  if (command == "reload") return run_reload(typed);
  if (command == "ethtool") return tools::run_ethtool(typed.socket, typed.nic);
  if (command == "vlan") return tools::run_vlan(typed.socket, typed.nic);
  if (command == "qos") return tools::run_qos(typed.socket, typed.nic);
  if (command == "filter") return tools::run_filter(typed.socket, typed.nic);
  if (command == "list") return tools::run_list(typed.socket, typed.list);
  if (command == "capture start") return tools::run_capture_start(typed.socket, typed.capture);
  if (command == "capture stop") return tools::run_capture_stop(typed.socket, typed.capture);
  if (command == "evict") return run_evict(typed);
  if (command == "decrypt") return tools::run_decrypt(typed.decrypt);
  if (command == "keygen") return tools::make_key(typed.key_file);
  if (command == "pubkey") return tools::print_public_key(typed.key_file);
  if (command == "bench") return run_checked(tools::check_bench(typed.bench), tools::run_bench);
  if (command == "conform")
    return run_checked(tools::check_conform(typed.conform), tools::run_conform);
  if (command == "sim") return run_checked(tools::check_sim(typed.sim), tools::run_sim);
  if (command == "show topology") return tools::run_topology(typed.topology);
  if (command == "show") return run_show(typed);
  if (command == "monitor") return run_monitor(typed);
  if (command == "stats") return tools::run_stats(typed.socket, typed.stats);
  control::Request request;
  request.command = control::Command::kPeers;
  request.json = typed.json;
  return tools::ask_and_print(typed.socket, request);
}

// The names of the commands as typed, such as "show topology".
std::string command_of(const CLI::App& app) {
  std::string out;
  for (auto typed = app.get_subcommands(); !typed.empty();
       typed = typed.front()->get_subcommands()) {
    out += (out.empty() ? "" : " ") + typed.front()->get_name();
  }
  return out;
}

// CLI11 would only report that a command is missing.
bool is_unknown_command(const CLI::App& app, const std::vector<const char*>& words) {
  if (words.size() < 2) return false;
  const std::string_view first = words[1];
  if (first.starts_with('-') && first != "--") return false;
  const auto is_named = [&](const CLI::App* command) { return command->get_name() == first; };
  return app.get_subcommands(is_named).empty();
}

// "help COMMAND" is "COMMAND --help".
std::vector<const char*> words_of(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (argc >= 2 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  return words;
}

int run_typed(int argc, char** argv) {
  const std::vector<const char*> words = words_of(argc, argv);
  // It has a file of options, which only a parser without commands reads.
  if (words.size() > 1 && std::string_view(words[1]) == "raw") {
    return tools::run_raw(static_cast<int>(words.size()) - 1, words.data() + 1);
  }
  Arguments typed;
  const auto app = control::make_app(
      "splitnic",
      "Show and change a running splitnic program; make keys; measure the fabric; send IPv6 "
      "datagrams over it; simulate a fabric; decrypt captures; check implementations of the "
      "protocol.");
  add_commands(*app, typed);
  if (is_unknown_command(*app, words)) {
    return bad_usage("unknown command '" + std::string(words[1]) + "' (see --help)");
  }
  if (const auto refusal =
          control::run_parser(*app, static_cast<int>(words.size()), words.data())) {
    std::fputs(refusal->text.c_str(), refusal->exit_code == control::kExitOk ? stdout : stderr);
    return refusal->exit_code;
  }
  if (const auto checked = control::check_commands(*app); !checked) {
    return bad_usage(checked.error().text());
  }
  return run(command_of(*app), typed);
}

}  // namespace

int main(int argc, char** argv) {
  return control::report_exceptions("splitnic", [&] { return run_typed(argc, argv); });
}
