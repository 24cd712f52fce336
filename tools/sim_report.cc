#include "tools/sim_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

namespace splitnic::tools {
namespace {

using fabric::simulation::HopsLatency;
using fabric::simulation::LineLoad;
using fabric::simulation::Report;
using fabric::simulation::SimTime;

double nanoseconds_of(SimTime time) { return static_cast<double>(time.count()) / 1000; }

// "12.3 us"
std::string time_text(double nanoseconds) {
  static constexpr std::array<const char*, 4> kUnits = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && nanoseconds >= 1000; ++unit) nanoseconds /= 1000;
  return fmt::format("{:.4g} {}", nanoseconds, kUnits.at(unit));
}

double per(double sum, std::uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::string loss_text(const Report& report) {
  std::string text = fmt::format("{} lost", report.lost.sum());
  const auto add = [&](std::uint64_t count, const char* why) {
    if (count != 0) text += fmt::format(" ({} {})", count, why);
  };
  add(report.lost.on_cable, "on a cable that failed");
  add(report.lost.in_switch, "in a switch that failed");
  add(report.lost.no_route, "without a route");
  add(report.lost.hop_limit, "that circulated");
  return text;
}

std::string load_text(const Report& report) {
  double sum = 0;
  const LineLoad* busiest = nullptr;
  for (const LineLoad& line : report.lines) {
    sum += line.utilisation;
    if (busiest == nullptr || line.utilisation > busiest->utilisation) busiest = &line;
  }
  if (busiest == nullptr) return "none";
  return fmt::format("mean load {:.1f} %, most {:.1f} % from {} to {}",
                     100 * per(sum, report.lines.size()), 100 * busiest->utilisation, busiest->from,
                     busiest->to);
}

// Of the links with the most load, the first ones of equal load first; each on a line.
std::string waits_text(const Report& report) {
  constexpr std::size_t kShown = 3;
  std::vector<const LineLoad*> busiest;
  for (const LineLoad& line : report.lines) busiest.push_back(&line);
  std::ranges::stable_sort(busiest, [](const LineLoad* a, const LineLoad* b) {
    return a->utilisation > b->utilisation;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, busiest.size()); ++i) {
    const LineLoad& line = *busiest[i];
    text += fmt::format("{:<12}mean {}, longest {} for the link from {} to {}, {:.1f} %\n",
                        i == 0 ? "waits" : "", time_text(line.wait_mean_picoseconds / 1000),
                        time_text(nanoseconds_of(line.wait_longest)), line.from, line.to,
                        100 * line.utilisation);
  }
  return text;
}

// "2: 5.1 us, 4: 9.7 us, 6: 16 us"; of many numbers of links the first ones and the last.
std::string by_links_text(const Report& report) {
  constexpr std::size_t kFirstShown = 7;
  const std::size_t count = report.latency_by_hops.size();
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= kFirstShown && i + 1 != count) continue;
    if (i != 0) text += i > kFirstShown ? ", ..., " : ", ";
    const HopsLatency& one = report.latency_by_hops[i];
    text += fmt::format("{}: {}", one.hops, time_text(one.mean_picoseconds / 1000));
  }
  return text.empty() ? "none" : text;
}

boost::json::object cells_of(const Report& report) {
  return {{"offered", report.offered},
          {"withheld", report.withheld},
          {"sent", report.sent},
          {"delivered", report.delivered},
          {"delivered_in_time", report.delivered_in_time},
          {"in_flight", report.in_flight},
          {"lost",
           {{"on_cable", report.lost.on_cable},
            {"in_switch", report.lost.in_switch},
            {"no_route", report.lost.no_route},
            {"hop_limit", report.lost.hop_limit}}}};
}

// In nanoseconds, with whole picoseconds: a rounded number is short.
double rounded(double picoseconds) { return std::round(picoseconds) / 1000; }

boost::json::array by_links_of(const Report& report) {
  boost::json::array all;
  for (const HopsLatency& one : report.latency_by_hops) {
    all.push_back(
        {{"links", one.hops}, {"cells", one.cells}, {"mean", rounded(one.mean_picoseconds)}});
  }
  return all;
}

boost::json::object wait_of(const LineLoad& line) {
  return {{"mean", rounded(line.wait_mean_picoseconds)},
          {"longest", nanoseconds_of(line.wait_longest)}};
}

boost::json::array links_of(const Report& report) {
  constexpr double kParts = 1e4;  // a rounded number is short
  boost::json::array links;
  for (const LineLoad& line : report.lines) {
    links.push_back({{"from", line.from},
                     {"to", line.to},
                     {"cells", line.cells},
                     {"utilisation", std::round(line.utilisation * kParts) / kParts},
                     {"wait_ns", wait_of(line)},
                     {"up", line.is_up}});
  }
  return links;
}

}  // namespace

std::string deadlock_text(const Report& report) {
  std::string text;
  for (const std::string& port : report.deadlock) text += port + " waits for ";
  return text + report.deadlock.front() + ", after " +
         time_text(nanoseconds_of(report.deadlock_at));
}

std::string sim_text(const SimRun& run, double seconds) {
  const Report& report = run.report;
  const double per_sender = per(report.bits_per_second, report.senders);
  std::string text =
      fmt::format("fabric      {} switches, {} nodes, {} cables; routing {}, tables {}\n",
                  report.switches, report.nodes, report.cables, fabric::name(run.topology.routing),
                  fabric::name(run.topology.tables_per));
  text += fmt::format("workload    {}, {} senders at {} % for {}; seed {}\n",
                      run.options.workload_name, report.senders, run.options.workload.load_percent,
                      time_text(nanoseconds_of(report.duration)), run.options.seed);
  text += fmt::format("cells       {} sent, {} delivered, {}, {} left in the fabric\n", report.sent,
                      report.delivered, loss_text(report), report.in_flight);
  text += fmt::format("throughput  {:.4g} Gbit/s, {:.4g} per sender: {:.1f} % of a link\n",
                      report.bits_per_second / 1e9, per_sender / 1e9,
                      100 * per_sender / report.line_bits_per_second);
  text += fmt::format("latency     p50 {}, p99 {}, longest {}; {:.2f} links per cell\n",
                      time_text(nanoseconds_of(report.latency.percentile(50))),
                      time_text(nanoseconds_of(report.latency.percentile(99))),
                      time_text(nanoseconds_of(report.latency.longest())),
                      per(static_cast<double>(report.delivered_hops), report.delivered));
  text += "by links    " + by_links_text(report) + "\n";
  text += "links       " + load_text(report) + "\n" + waits_text(report);
  text += "deadlock    " + (report.deadlock.empty() ? "none" : deadlock_text(report)) + "\n";
  text += fmt::format("simulated   {} in {:.2f} s of processor time: {:.0f} ns per cell and link\n",
                      time_text(nanoseconds_of(report.ended)), seconds,
                      per(seconds * 1e9, report.cell_hops));
  return text;
}

std::string sim_json(const SimRun& run) {
  const Report& report = run.report;
  boost::json::array circle;
  for (const std::string& port : report.deadlock) circle.emplace_back(port);
  const boost::json::object all{{"switches", report.switches},
                                {"nodes", report.nodes},
                                {"cables", report.cables},
                                {"routing", std::string(fabric::name(run.topology.routing))},
                                {"tables", std::string(fabric::name(run.topology.tables_per))},
                                {"workload", run.options.workload_name},
                                {"load_percent", run.options.workload.load_percent},
                                {"senders", report.senders},
                                {"seed", run.options.seed},
                                {"duration_ns", nanoseconds_of(report.duration)},
                                {"ended_ns", nanoseconds_of(report.ended)},
                                {"cells", cells_of(report)},
                                {"cell_hops", report.cell_hops},
                                {"bits_per_second", std::round(report.bits_per_second)},
                                {"link_bits_per_second", report.line_bits_per_second},
                                {"latency_ns",
                                 {{"p50", nanoseconds_of(report.latency.percentile(50))},
                                  {"p99", nanoseconds_of(report.latency.percentile(99))},
                                  {"mean", rounded(report.latency.mean_picoseconds())},
                                  {"longest", nanoseconds_of(report.latency.longest())},
                                  {"by_links", by_links_of(report)}}},
                                {"deadlock", circle},
                                {"links", links_of(report)}};
  return boost::json::serialize(all) + "\n";
}

}  // namespace splitnic::tools
