#include "tools/show_command.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "control/config/values.h"
#include "control/report/traffic_rates.h"
#include "control/socket/unix_socket.h"
#include "tools/commands.h"
#include "tools/counter_source.h"

namespace splitnic::tools {
namespace {

control::Request show_request(const ShowArguments& typed) {
  control::Request request;
  request.command = control::Command::kShow;
  request.json = typed.json;
  request.verbose = typed.verbose;
  return request;
}

// A program whose traffic is measured.
struct Measured {
  std::string socket;
  CounterSource source;
  CounterSample first;
};

// An error: no program responds. One of several that does not is left out.
base::Result<std::vector<Measured>> first_samples(const std::string& socket) {
  std::vector<std::string> sockets = control::sockets_in(control::kControlFolder);
  if (!socket.empty() || sockets.size() < 2) sockets = {socket};
  std::vector<Measured> all;
  std::optional<base::Error> last_error;
  for (const std::string& path : sockets) {
    CounterSource source(path);
    if (auto first = source.read()) {
      all.push_back({path, std::move(source), *std::move(first)});
    } else {
      last_error = first.error();
    }
  }
  if (all.empty()) return *last_error;
  return all;
}

base::Result<std::string> shown_with_rates(Measured& program, const ShowArguments& typed) {
  const auto second = program.source.read();
  if (!second) return second.error();
  auto client = connect(program.socket);
  if (!client) return client.error();
  const auto shown = client->ask(show_request(typed), kReplyTimeout);
  if (!shown) return shown.error();
  if (shown->status != control::ReplyStatus::kOk) return base::Error(shown->text);
  const std::chrono::duration<double> span = second->at - program.first.at;
  const auto rates = control::traffic_rates(program.first.counters, second->counters, span.count());
  return {boost::system::in_place_value, typed.json ? control::with_rates(shown->text, rates)
                                                    : shown->text + control::rates_text(rates)};
}

int show_rates(const std::string& socket, const ShowArguments& typed) {
  const auto seconds = control::number_option("--interval", typed.interval, 1, kIntervalMax);
  if (!seconds) return bad_usage(seconds.error().text());
  auto programs = first_samples(socket);
  if (!programs) return fail(programs.error().text());
  if (!Pause(*seconds).wait()) return control::kExitOk;
  std::string text;
  std::string last_error;
  for (Measured& program : *programs) {
    const auto shown = shown_with_rates(program, typed);
    if (shown) {
      text += (text.empty() || typed.json ? "" : "\n") + *shown;
    } else {
      last_error = shown.error().text();
    }
  }
  if (text.empty()) return fail(last_error);
  const bool is_written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  return is_written ? control::kExitOk : fail("cannot write to the standard output");
}

}  // namespace

CLI::App* add_show(CLI::App& app, ShowArguments& into) {
  auto* show = app.add_subcommand(
      "show", "Role, peers, state, channels, pools, LAN ports, links, of every program here");
  show->add_flag("-j,--json", into.json, "As JSON, one object per program");
  show->add_flag("-v,--verbose", into.verbose,
                 "Also what a peer has agreed and is set to, paths, memory, and the counters that "
                 "are not 0");
  show->add_flag("--rate", into.rate, "Also bits, frames and drops per second, over one interval");
  show->add_option("--interval", into.interval,
                   control::with_default("Interval of --rate in seconds", into.interval))
      ->type_name("S");
  return show;
}

int run_show(const std::string& socket, const ShowArguments& typed) {
  if (typed.rate) return show_rates(socket, typed);
  return ask_all_and_print(socket, show_request(typed));
}

}  // namespace splitnic::tools
