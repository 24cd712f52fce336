#include "tools/show_command.h"

#include <chrono>
#include <cstdio>
#include <vector>

#include "control/config/parse_outcome.h"
#include "control/report/traffic_rates.h"
#include "control/socket/unix_socket.h"
#include "tools/commands.h"
#include "tools/counter_source.h"
#include "tools/several_replies.h"

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

// Of the programs that respond; errors of others go to `replies`.
std::vector<Measured> first_samples(const std::string& socket, SeveralReplies& replies) {
  std::vector<std::string> sockets = control::sockets_in(control::kControlFolder);
  if (!socket.empty() || sockets.size() < 2) sockets = {socket};
  std::vector<Measured> all;
  for (const std::string& path : sockets) {
    CounterSource source(path);
    if (auto first = source.read()) {
      all.push_back({path, std::move(source), *std::move(first)});
    } else {
      replies.add(first.error());
    }
  }
  return all;
}

base::Result<std::string> shown_with_rates(Measured& program, const ShowArguments& typed) {
  const auto second = program.source.read();
  if (!second) return second.error();
  auto client = connect(program.socket);
  if (!client) return client.error();
  const auto shown = client->ask(show_request(typed), kReplyTimeout);
  if (!shown) return shown.error();
  if (shown->status != control::ReplyStatus::kOk) return refusal_of(program.socket, *shown);
  const std::chrono::duration<double> span = second->at - program.first.at;
  const auto rates = control::traffic_rates(program.first.counters, second->counters, span.count());
  return {boost::system::in_place_value, typed.json ? control::with_rates(shown->text, rates)
                                                    : shown->text + control::rates_text(rates)};
}

int show_rates(const std::string& socket, const ShowArguments& typed) {
  const auto seconds = seconds_of(typed.interval);
  if (!seconds) return bad_usage(seconds.error().text());
  SeveralReplies replies(typed.json);
  auto programs = first_samples(socket, replies);
  if (programs.empty()) return replies.print();
  if (!Pause(*seconds).wait()) return control::kExitOk;
  for (Measured& program : programs) replies.add(shown_with_rates(program, typed));
  return replies.print();
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
  show->add_option(
          "--interval", into.interval,
          control::with_default("Interval of --rate, which it needs, in seconds", kIntervalDefault))
      ->type_name("S");
  return show;
}

int run_show(const std::string& socket, const ShowArguments& typed) {
  if (typed.rate) return show_rates(socket, typed);
  if (!typed.interval.empty()) return bad_usage("--interval: show needs --rate with it");
  return ask_all_and_print(socket, show_request(typed));
}

}  // namespace splitnic::tools
