#include "tools/stats_command.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "control/config/parse_outcome.h"
#include "control/report/json.h"
#include "control/report/traffic_rates.h"
#include "tools/commands.h"
#include "tools/counter_source.h"

namespace splitnic::tools {
namespace {

using Counters = control::CounterValues;

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
  void rates(const CounterSample& before, const CounterSample& now) const {
    const std::chrono::duration<double> span = now.at - before.at;
    boost::json::object all;
    for (const auto& [name, value] : now.counters) {
      const auto changed = static_cast<double>(control::change_of(before.counters, name, value));
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
      const std::uint64_t by = control::change_of(before, name, value);
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

int print_end() {
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  return control::kExitOk;
}

// Continues when the program was started again.
int watch(CounterSource& source, const StatsArguments& typed, const Pause& pause,
          CounterSample before) {
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
  stats
      ->add_option(
          "--interval", into.interval,
          control::with_default("Interval of --rate or --watch, one of which it needs, in seconds",
                                kIntervalDefault))
      ->type_name("S");
  return stats;
}

int run_stats(const std::string& socket, const StatsArguments& typed) {
  const auto seconds = seconds_of(typed.interval);
  if (!seconds) return bad_usage(seconds.error().text());
  if (!typed.interval.empty() && !typed.rate && !typed.watch) {
    return bad_usage("--interval: stats needs --rate or --watch with it");
  }
  if (typed.json && typed.pattern.empty() && !typed.nonzero && !typed.rate && !typed.watch) {
    control::Request request;
    request.command = control::Command::kStats;
    request.json = true;
    return ask_and_print(socket, request);
  }
  CounterSource source(socket, typed.pattern);
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
