// The options of `splitnic sim`. docs/simulator.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/config/cli_app.h"
#include "fabric_emul/routing/routing.h"
#include "fabric_emul/simulation/settings.h"
#include "fabric_emul/simulation/workload.h"

namespace splitnic::tools {

// As typed.
struct SimArguments {
  std::string topology, make;
  std::string workload = "all-to-all", load = "100", seed = "1", duration = "1ms";
  std::string rate = "10G", delay = "50ns", switch_delay = "100ns", reroute = "100us";
  std::string cell = "292", buffer = "16", lanes = "1", routing, tables;
  bool stores = false;
  std::vector<std::string> failures, repairs;
  std::string json, svg;
  std::vector<const CLI::Option*> of_runs;  // all but --make, which has no use for them
};

struct SimOptions {
  std::string make;  // "": simulate
  std::string topology_path;
  std::string workload_name;  // as typed
  fabric::simulation::Workload workload;
  fabric::simulation::Settings settings;
  std::vector<fabric::simulation::Change> changes;
  fabric::simulation::SimTime duration{};
  std::uint32_t seed = 1;
  std::optional<fabric::RoutingKind> routing;   // none: that of the file
  std::optional<fabric::TablesPer> tables_per;  // the same
  std::string json, svg;
};

void add_sim(CLI::App& app, SimArguments& into);
// An error is bad usage.
base::Result<SimOptions> check_sim(const SimArguments& typed);

}  // namespace splitnic::tools
