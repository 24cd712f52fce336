#include "tools/sim_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "control/config/parse_outcome.h"
#include "fabric_emul/simulation/simulator.h"
#include "fabric_emul/simulation/topology_maker.h"
#include "switch_module/topology_file.h"
#include "switch_module/topology_text.h"
#include "tools/commands.h"
#include "tools/sim_picture.h"
#include "tools/sim_report.h"

namespace splitnic::tools {
namespace {

namespace simulation = fabric::simulation;

int print_text(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? control::kExitOk : fail("cannot write to the standard output");
}

int print_made(const std::string& form) {
  const auto made = simulation::make_topology(form);
  if (!made) return bad_usage(made.error().within("--make").text());
  if (made->nodes.size() > fabric_switch::kNodesMax ||
      made->switches.size() > fabric_switch::kSwitchesMax) {
    return bad_usage(
        fmt::format("--make: {} nodes and {} switches; a topology file has up to {} "
                    "and {}",
                    made->nodes.size(), made->switches.size(), fabric_switch::kNodesMax,
                    fabric_switch::kSwitchesMax));
  }
  return print_text(fabric_switch::topology_text(*made));
}

base::Result<std::unique_ptr<simulation::Simulator>> make_simulator(
    const SimOptions& options, const fabric::Topology& topology, const fabric::Routing& routing) {
  simulation::Settings settings = options.settings;
  settings.layers_lanes = topology.routing == fabric::RoutingKind::kLayered;
  auto made =
      simulation::Simulator::make(topology, settings, routing, options.workload, options.seed);
  if (!made) return made.error().within(options.topology_path);
  for (const simulation::Change& change : options.changes) {
    if (auto added = (*made)->add_change(change); !added) {
      return added.error().within(change.is_repair ? "--repair" : "--fail");
    }
  }
  return made;
}

// Opened before the run, so that a run is not for nothing.
base::Result<std::ofstream> open_output(const std::string& option, const std::string& path,
                                        const std::string& topology) {
  std::ofstream file;
  if (path.empty()) return file;
  std::error_code missing;
  if (std::filesystem::equivalent(path, topology, missing)) {
    return base::Error(option + ": " + path + " is the topology file: name another one");
  }
  file.open(path, std::ios::binary | std::ios::trunc);
  if (!file) return base::Error::from_errno(option + " " + path, errno);
  return file;
}

base::Status write_output(const std::string& option, std::ofstream& file, const std::string& text) {
  if (!file.is_open()) return {};
  file << text;
  file.close();
  return file ? base::Status() : base::Error(option + ": the file cannot be written");
}

}  // namespace

int run_sim(const SimOptions& options) {
  if (!options.make.empty()) return print_made(options.make);
  auto file = fabric_switch::read_topology(options.topology_path);
  if (!file) return fail(file.error().text());
  fabric::Topology& topology = file->topology;
  topology.routing = options.routing.value_or(topology.routing);
  topology.tables_per = options.tables_per.value_or(topology.tables_per);
  const auto routing = fabric::make_routing(topology.routing, topology.tables_per);
  auto simulator = make_simulator(options, topology, *routing);
  if (!simulator) return fail(simulator.error().text());
  auto json = open_output("--json", options.json, options.topology_path);
  if (!json) return fail(json.error().text());
  auto svg = open_output("--svg", options.svg, options.topology_path);
  if (!svg) return fail(svg.error().text());

  const std::clock_t begin = std::clock();
  const simulation::Report report = (*simulator)->run(options.duration);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;

  const SimRun run{.topology = topology, .options = options, .report = report};
  if (const int status = print_text(sim_text(run, seconds)); status != 0) return status;
  if (auto done = write_output("--json", *json, sim_json(run)); !done) {
    return fail(done.error().text());
  }
  if (auto done = write_output("--svg", *svg, sim_picture(run)); !done) {
    return fail(done.error().text());
  }
  if (report.deadlock.empty()) return control::kExitOk;
  const bool is_shortest = topology.routing == fabric::RoutingKind::kShortest;
  return fail("deadlock: " + deadlock_text(report) +
              (is_shortest ? "; --routing updown has none" : ""));
}

}  // namespace splitnic::tools
