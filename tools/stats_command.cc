#include "tools/stats_command.h"

#include <fnmatch.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>

#include "control/json.h"
#include "control/parse_outcome.h"
#include "control/values.h"
#include "tools/commands.h"

namespace splitnic::tools {
namespace {

using Counters = std::map<std::string, std::uint64_t>;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kIntervalMax = 3600;  // seconds

struct Sample {
  Counters counters;
  Clock::time_point at;
};

// A pattern without wildcards is a part of the name.
bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.empty()) return true;
  if (pattern.find_first_of("*?[") == std::string::npos) {
    return name.find(pattern) != std::string::npos;
  }
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// "NAME VALUE" per line.
Counters read_counters(const std::string& text, const std::string& pattern) {
  Counters counters;
  std::istringstream lines(text);
  std::string name;
  std::uint64_t value = 0;
  while (lines >> name >> value) {
    if (matches(name, pattern)) counters[name] = value;
  }
  return counters;
}

// A program that was started again counts from 0.
std::uint64_t change(const Counters& before, const std::string& name, std::uint64_t value) {
  const auto old = before.find(name);
  return old == before.end() || old->second > value ? value : value - old->second;
}

class Printer {
 public:
  explicit Printer(const StatsArguments& typed) : typed_(typed) {}

  void values(const Counters& now) const {
    boost::json::object all;
    for (const auto& [name, value] : now) {
      if (typed_.nonzero && value == 0) continue;
      if (typed_.json)
        all[control::json_string(name)] = value;
      else
        std::printf("%s %llu\n", name.c_str(), static_cast<unsigned long long>(value));
    }
    if (typed_.json) std::printf("%s\n", boost::json::serialize(all).c_str());
  }
  void rates(const Sample& before, const Sample& now) const {
    const std::chrono::duration<double> span = now.at - before.at;
    boost::json::object all;
    for (const auto& [name, value] : now.counters) {
      const auto changed = static_cast<double>(change(before.counters, name, value));
      if (typed_.nonzero && changed == 0) continue;
      const double rate = changed / span.count();
      if (typed_.json)
        all[control::json_string(name)] = rate;
      else
        std::printf("%s %.1f/s\n", name.c_str(), rate);
    }
    if (typed_.json) std::printf("%s\n", boost::json::serialize(all).c_str());
  }
  static void changes(const Counters& before, const Counters& now) {
    bool has_changed = false;
    for (const auto& [name, value] : now) {
      const std::uint64_t by = change(before, name, value);
      if (by == 0) continue;
      std::printf("%s %llu (+%llu)\n", name.c_str(), static_cast<unsigned long long>(value),
                  static_cast<unsigned long long>(by));
      has_changed = true;
    }
    std::puts(has_changed ? "" : "(no change)\n");
  }

 private:
  const StatsArguments& typed_;
};

class Source {
 public:
  Source(std::string socket, std::string pattern)
      : socket_(std::move(socket)), pattern_(std::move(pattern)) {}
  base::Result<Sample> read() {
    if (!client_) {
      auto opened = connect(socket_);
      if (!opened) return opened.error();
      client_.emplace(*std::move(opened));
    }
    control::Request request;
    request.command = control::Command::kStats;
    const auto reply = client_->ask(request, kReplyTimeout);
    if (!reply || reply->status != control::ReplyStatus::kOk) {
      client_.reset();
      return reply ? base::Error(reply->text) : reply.error();
    }
    return Sample{read_counters(reply->text, pattern_), Clock::now()};
  }

 private:
  std::string socket_;
  std::string pattern_;
  std::optional<control::Client> client_;
};

// Blocked, so that sigtimedwait is both the pause and the way out.
class Pause {
 public:
  explicit Pause(std::uint32_t seconds) : time_{static_cast<time_t>(seconds), 0} {
    sigemptyset(&stop_);
    sigaddset(&stop_, SIGINT);
    sigaddset(&stop_, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop_, nullptr);
  }
  // Returns false if the user wants to stop.
  bool wait() const { return sigtimedwait(&stop_, nullptr, &time_) <= 0; }

 private:
  sigset_t stop_{};
  timespec time_;
};

int print_end() {
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  return control::kExitOk;
}

// Continues when the program was started again.
int watch(Source& source, const StatsArguments& typed, const Pause& pause, Sample before) {
  const Printer printer(typed);
  bool is_away = false;
  while (pause.wait()) {
    auto now = source.read();
    if (!now) {
      if (!is_away) std::fprintf(stderr, "splitnic: %s; waiting\n", now.error().text().c_str());
      is_away = true;
      continue;
    }
    is_away = false;
    if (typed.rate)
      printer.rates(before, *now);
    else if (typed.json)
      printer.values(now->counters);
    else
      Printer::changes(before.counters, now->counters);
    if (const int ended = print_end(); ended != control::kExitOk) return ended;
    before = *std::move(now);
  }
  return control::kExitOk;
}

}  // namespace

CLI::App* add_stats(CLI::App& app, StatsArguments& into) {
  auto* stats = app.add_subcommand("stats", "Every counter, by its name");
  stats
      ->add_option("pattern", into.pattern,
                   "Only names that match, such as '*.drop.*', or that contain it")
      ->type_name("PATTERN");
  stats->add_flag("-j,--json", into.json, "One flat object, name to number");
  stats->add_flag("--nonzero", into.nonzero, "Only those that are not 0");
  stats->add_flag("--rate", into.rate, "Changes per second, over one interval");
  stats->add_flag("--watch", into.watch, "Repeat after each interval until interrupted");
  stats->add_option("--interval", into.interval, "Of --rate and --watch, in seconds (default 1)")
      ->type_name("S");
  return stats;
}

int run_stats(const std::string& socket, const StatsArguments& typed) {
  const auto seconds = control::number_option("--interval", typed.interval, 1, kIntervalMax);
  if (!seconds) return bad_usage(seconds.error().text());
  if (typed.json && typed.pattern.empty() && !typed.nonzero && !typed.rate && !typed.watch) {
    control::Request request;
    request.command = control::Command::kStats;
    request.json = true;
    return ask_and_print(socket, request);
  }
  Source source(socket, typed.pattern);
  auto first = source.read();
  if (!first) return fail(first.error().text());
  const Printer printer(typed);
  if (!typed.rate) printer.values(first->counters);
  if (!typed.rate && typed.watch && !typed.json) std::puts("");
  if (!typed.rate && !typed.watch) return print_end();
  if (const int ended = print_end(); ended != control::kExitOk) return ended;
  const Pause pause(*seconds);
  if (typed.watch) return watch(source, typed, pause, *std::move(first));
  if (!pause.wait()) return control::kExitOk;
  const auto second = source.read();
  if (!second) return fail(second.error().text());
  printer.rates(*first, *second);
  return print_end();
}

}  // namespace splitnic::tools
