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

boost::json::array links_of(const Report& report) {
  constexpr double kParts = 1e4;  // a rounded number is short
  boost::json::array links;
  for (const LineLoad& line : report.lines) {
    links.push_back({{"from", line.from},
                     {"to", line.to},
                     {"cells", line.cells},
                     {"utilisation", std::round(line.utilisation * kParts) / kParts},
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
  text += "links       " + load_text(report) + "\n";
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
                                  {"mean", std::round(report.latency.mean_picoseconds()) / 1000},
                                  {"longest", nanoseconds_of(report.latency.longest())}}},
                                {"deadlock", circle},
                                {"links", links_of(report)}};
  return boost::json::serialize(all) + "\n";
}

}  // namespace splitnic::tools
