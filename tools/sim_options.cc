#include "tools/sim_options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/parse_number.h"
#include "control/config/values.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::tools {
namespace {

using fabric::simulation::Change;
using fabric::simulation::SimTime;

struct SimUnit {
  std::string_view text;
  double value;
};
// Of which a text ends with the first that fits.
constexpr SimUnit kTimeUnits[] = {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
constexpr SimUnit kRateUnits[] = {{"K", 1e3}, {"M", 1e6}, {"G", 1e9}};

// A number with a unit behind it, such as 2.5us.
std::optional<double> parse_with_unit(std::string_view text, std::span<const SimUnit> units) {
  const auto unit =
      std::ranges::find_if(units, [&](const SimUnit& one) { return text.ends_with(one.text); });
  if (unit == units.end()) return std::nullopt;
  constexpr double kMax = std::numeric_limits<double>::max();
  text.remove_suffix(unit->text.size());
  const auto number = base::parse_number(text, -kMax, kMax);
  return number ? std::optional(*number * unit->value) : std::nullopt;
}

constexpr double kSecond = 1e12;  // in picoseconds
constexpr double kDurationMax = 1000 * kSecond;

base::Result<SimTime> parse_sim_time(const std::string& option, std::string_view text,
                                     double max = kDurationMax) {
  const auto time = parse_with_unit(text, kTimeUnits);
  if (!time || *time < 0 || *time > max) {
    return base::Error(option + ": '" + std::string(text) + "' is not a time up to " +
                       (max < kDurationMax ? "1s" : "1000s") +
                       ", such as 50ns, 2.5us, 10ms or 60s");
  }
  return SimTime(static_cast<std::int64_t>(std::llround(*time)));
}

base::Status check_make(const SimArguments& typed) {
  if (typed.topology.empty() == typed.make.empty()) {
    return base::Error("sim: give a topology file, or --make");
  }
  if (typed.make.empty()) return {};
  for (const CLI::Option* option : typed.of_runs) {
    if (option->count() == 0) continue;
    return base::Error(option->get_name() +
                       ": sim --make only prints a topology file: leave the option out");
  }
  return {};
}

base::Status check_times(const SimArguments& typed, SimOptions& out) {
  struct TimeOption {
    const char* name;
    const std::string& text;
    SimTime& into;
  };
  const TimeOption options[] = {{"--delay", typed.delay, out.settings.cable_delay},
                                {"--switch-delay", typed.switch_delay, out.settings.switch_delay},
                                {"--reroute", typed.reroute, out.settings.reroute_delay}};
  for (const TimeOption& option : options) {
    const auto time = parse_sim_time(option.name, option.text, kSecond);
    if (!time) return time.error();
    option.into = *time;
  }
  const auto duration = parse_sim_time("--duration", typed.duration);
  if (!duration) return duration.error();
  if (*duration <= SimTime::zero()) return base::Error("--duration: it is 0");
  out.duration = *duration;
  constexpr double kRateMin = 1e3, kRateMax = 1e12;
  const auto rate = parse_with_unit(typed.rate, kRateUnits);
  if (!rate || *rate < kRateMin || *rate > kRateMax) {
    return base::Error("--rate: '" + typed.rate +
                       "' is not a number of bits per second from 1K to 1000G");
  }
  out.settings.bits_per_second = static_cast<std::uint64_t>(*rate);
  return {};
}

base::Status check_numbers(const SimArguments& typed, SimOptions& out) {
  namespace simulation = fabric::simulation;
  constexpr std::uint32_t kCellMin = 64, kCellMax = 65535;
  const auto cell = control::number_option("--cell", typed.cell, kCellMin, kCellMax);
  if (!cell) return cell.error();
  out.settings.cell_bytes = *cell;
  const auto buffer =
      control::number_option("--buffer", typed.buffer, 1, simulation::kBufferCellsMax);
  if (!buffer) return buffer.error();
  out.settings.buffer_cells = *buffer;
  const auto lanes = control::number_option("--lanes", typed.lanes, 1, simulation::kLanesMax);
  if (!lanes) return lanes.error();
  out.settings.lanes = static_cast<std::uint8_t>(*lanes);
  const auto load = control::number_option("--load", typed.load, 1, 100);
  if (!load) return load.error();
  out.workload.load_percent = *load;
  const auto seed = control::number_option("--seed", typed.seed, 0, 0xFFFFFFFF);
  if (!seed) return seed.error();
  out.seed = *seed;
  out.settings.cuts_through = !typed.stores;
  return {};
}

// SWITCH:PORT@TIME or SWITCH@TIME
base::Result<Change> parse_change(const std::string& option, std::string_view text,
                                  SimTime duration) {
  const std::size_t at = text.rfind('@');
  const std::string_view place = text.substr(0, at);
  const std::size_t colon = place.find(':');
  Change change{.of_switch = std::string(place.substr(0, colon))};
  bool is_good = at != std::string_view::npos && control::is_node_name(change.of_switch);
  if (colon != std::string_view::npos) {
    const auto port = control::parse_number(place.substr(colon + 1), fabric::kSwitchPortsMax);
    is_good = is_good && port && *port != 0;
    change.port = static_cast<std::uint8_t>(port.value_or(0));
  }
  if (!is_good) {
    return base::Error(option + ": '" + std::string(text) +
                       "' is not SWITCH@TIME or SWITCH:PORT@TIME with a port from 1 to " +
                       std::to_string(fabric::kSwitchPortsMax));
  }
  const auto time = parse_sim_time(option, text.substr(at + 1));
  if (!time) return time.error();
  if (*time > duration) {
    return base::Error(option + ": '" + std::string(text) + "' is later than --duration");
  }
  change.at = *time;
  change.is_repair = option == "--repair";
  return change;
}

base::Status check_changes(const SimArguments& typed, SimOptions& out) {
  for (const auto& [option, texts] :
       {std::pair("--fail", &typed.failures), std::pair("--repair", &typed.repairs)}) {
    for (const std::string& text : *texts) {
      auto change = parse_change(option, text, out.duration);
      if (!change) return change.error();
      out.changes.push_back(*std::move(change));
    }
  }
  return {};
}

}  // namespace

void add_sim(CLI::App& app, SimArguments& into) {
  auto* sim = app.add_subcommand(
      "sim", "Simulate a whole fabric: throughput, latency, load of links, failures, deadlocks");
  const auto add = [&](const std::string& name, std::string& value, const std::string& about,
                       const std::string& type) {
    sim->add_option(name, value, about)->type_name(type);
  };
  const auto add_defaulted = [&](const std::string& name, std::string& value,
                                 const std::string& about, const std::string& type) {
    add(name, value, control::with_default(about, value), type);
  };
  add("topology", into.topology, "File of the topology, as splitnic-switch reads it", "FILE");
  add("--make", into.make,
      "Print a topology file instead, without other options: fattree:K[:PODS], ring:N, mesh:RxC "
      "or torus:RxC",
      "FORM");
  add_defaulted(
      "--workload", into.workload,
      "Who sends to whom: all-to-all, permutation, uniform, incast[:SENDERS] or hotspot[:PERCENT]",
      "WORKLOAD");
  add_defaulted("--load", into.load, "Percent of its link that each sender offers", "N");
  add_defaulted("--seed", into.seed, "Seed of the random numbers", "N");
  add_defaulted("--duration", into.duration, "Simulated time for which the nodes send", "T");
  add("--routing", into.routing,
      std::string(fabric::kRoutingNames) + " (default: that of the file)", "KIND");
  add("--tables", into.tables,
      "Forwarding tables of a switch: per_switch or per_input (default: as in the file)", "KIND");
  control::add_repeated(*sim, "--fail", into.failures,
                        "A cable, by one of its ports, or a switch fails: SWITCH:PORT@TIME or "
                        "SWITCH@TIME; may repeat",
                        "PLACE");
  control::add_repeated(*sim, "--repair", into.repairs,
                        "Repair a failed cable or switch, in the same form; may repeat", "PLACE");
  add_defaulted("--reroute", into.reroute, "Time from a failure or repair to new tables", "T");
  add_defaulted("--rate", into.rate, "Bits per second of each link and direction", "RATE");
  add_defaulted("--delay", into.delay, "Delay of a cable", "T");
  add_defaulted("--switch-delay", into.switch_delay, "Time of a cell in an idle switch", "T");
  add_defaulted("--cell", into.cell, "Bytes of a cell on the link", "N");
  add_defaulted("--buffer", into.buffer, "Cells that an input of a switch holds for each lane",
                "N");
  add_defaulted("--lanes", into.lanes,
                "Lanes of each link; with layered routing, of each of its layers", "N");
  sim->add_flag("--store-and-forward", into.stores,
                "Switches take in a whole cell before they forward it (default: they cut through)");
  add("--json", into.json, "Write the results, with the load of each link", "FILE");
  add("--svg", into.svg, "Write a picture of the load of each link", "FILE");
  for (const CLI::Option* option : sim->get_options()) {
    const bool is_of_runs = !option->get_positional() && option->get_name() != "--make";
    if (is_of_runs) into.of_runs.push_back(option);
  }
}

base::Result<SimOptions> check_sim(const SimArguments& typed) {
  SimOptions out;
  if (auto checked = check_make(typed); !checked) return checked.error();
  out.make = typed.make;
  out.topology_path = typed.topology;
  const auto workload = fabric::simulation::parse_workload(typed.workload);
  if (!workload) return workload.error().within("--workload");
  out.workload = *workload;
  out.workload_name = typed.workload;
  if (auto checked = check_numbers(typed, out); !checked) return checked.error();
  if (auto checked = check_times(typed, out); !checked) return checked.error();
  if (auto checked = check_changes(typed, out); !checked) return checked.error();
  if (!typed.routing.empty()) {
    out.routing = fabric::parse_routing(typed.routing);
    if (!out.routing) {
      return base::Error("--routing: '" + typed.routing + "' is not " +
                         std::string(fabric::kRoutingNames));
    }
  }
  if (!typed.tables.empty()) {
    out.tables_per = fabric::parse_tables_per(typed.tables);
    if (!out.tables_per) {
      return base::Error("--tables: '" + typed.tables + "' is not per_switch or per_input");
    }
  }
  if (!typed.json.empty() && typed.json == typed.svg) {
    return base::Error("--json and --svg cannot have one file");
  }
  out.json = typed.json;
  out.svg = typed.svg;
  return out;
}

}  // namespace splitnic::tools
