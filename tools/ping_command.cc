#include "tools/ping_command.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "control/config/values.h"
#include "control/report/ping_json.h"
#include "tools/commands.h"
#include "tools/counter_source.h"

namespace splitnic::tools {
namespace {

// Each echo may take three tries of half a second.
constexpr std::chrono::milliseconds kEchoTimeout{1500};

// The program that is asked. After an error of its socket the next request connects again: it may
// have been started again.
class Program {
 public:
  explicit Program(std::string socket) : socket_(std::move(socket)) {}

  base::Status open() {
    if (client_) return {};
    auto opened = connect(socket_);
    if (!opened) return opened.error();
    client_.emplace(*std::move(opened));
    return {};
  }
  base::Result<control::Reply> ask(const control::Request& request, base::Duration timeout) {
    if (const auto opened = open(); !opened) return opened.error();
    auto reply = client_->ask(request, timeout);
    if (!reply) client_.reset();
    return reply;
  }

 private:
  const std::string socket_;
  std::optional<control::Client> client_;
};

struct Outcome {
  control::PingResult result{};
  std::string why{};  // there are no round trips; "": there are
};

Outcome round_trips(Program& program, std::uint32_t count) {
  control::Request request;
  request.command = control::Command::kPing;
  request.count = count;
  const auto reply = program.ask(request, kReplyTimeout + kEchoTimeout * count);
  Outcome outcome;
  if (!reply) {
    outcome.why = reply.error().text();
  } else if (reply->status != control::ReplyStatus::kOk) {
    // The first echo without a reply is the last.
    if (reply->status == control::ReplyStatus::kFailed) outcome.result.sent = 1;
    outcome.why = reply->text;
  } else if (auto result = control::parse_ping_json(reply->text);
             result && !result->round_trips.empty()) {
    outcome.result = *std::move(result);
  } else {
    outcome.why = "the reply of the program is malformed: another version?";
  }
  return outcome;
}

void print_one(std::uint64_t number, const Outcome& one) {
  if (one.why.empty()) {
    const std::chrono::duration<double, std::micro> time = one.result.round_trips.front();
    std::printf("%llu: %.1f us\n", static_cast<unsigned long long>(number), time.count());
  } else {
    std::printf("%llu: %s\n", static_cast<unsigned long long>(number), one.why.c_str());
  }
  std::fflush(stdout);
}

// One per interval, each of which is printed, until there are `count` or the user ends it.
control::PingResult spread(Program& program, std::uint32_t count, std::uint32_t seconds,
                           bool is_quiet) {
  const Pause pause(seconds);
  control::PingResult all;
  do {
    const Outcome one = round_trips(program, 1);
    ++all.sent;
    if (one.why.empty()) all.round_trips.push_back(one.result.round_trips.front());
    if (!is_quiet) print_one(all.sent, one);
  } while (all.sent < count && pause.wait());
  return all;
}

int print(const control::PingResult& result, bool is_json) {
  const std::string text = is_json ? control::ping_json(result) : control::ping_text(result);
  const bool is_written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!is_written) return fail("cannot write to the standard output");
  return result.round_trips.empty() ? control::kExitFailed : control::kExitOk;
}

}  // namespace

CLI::App* add_ping(CLI::App& app, PingArguments& into) {
  auto* ping = app.add_subcommand("ping", "Echo round trips to the peer: min, median, max");
  ping->add_option("--count", into.count,
                   control::with_default("Number of round trips", into.count))
      ->type_name("N");
  ping->add_option("--interval", into.interval,
                   "Print one every S seconds (default: one after the other)")
      ->type_name("S");
  ping->add_flag("-j,--json", into.json, "As JSON, one object at the end");
  return ping;
}

int run_ping(const std::string& socket, const PingArguments& typed) {
  const auto count = control::number_option("--count", typed.count, 1, control::kPingCountMax);
  if (!count) return bad_usage(count.error().text());
  const auto seconds = control::number_option(
      "--interval", typed.interval.empty() ? "1" : typed.interval, 1, kIntervalMax);
  if (!seconds) return bad_usage(seconds.error().text());
  Program program(socket);
  if (const auto opened = program.open(); !opened) return fail(opened.error().text());
  if (!typed.interval.empty()) {
    return print(spread(program, *count, *seconds, typed.json), typed.json);
  }
  const Outcome outcome = round_trips(program, *count);
  if (outcome.why.empty()) return print(outcome.result, typed.json);
  if (typed.json && outcome.result.sent > 0) static_cast<void>(print(outcome.result, true));
  return fail(outcome.why);
}

}  // namespace splitnic::tools
