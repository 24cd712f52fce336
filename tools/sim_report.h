// The results of `splitnic sim` as text for people and as JSON. docs/simulator.md
#pragma once

#include <string>

#include "fabric_emul/simulation/report.h"
#include "fabric_emul/switching/topology.h"
#include "tools/sim_options.h"

namespace splitnic::tools {

struct SimRun {
  const fabric::Topology& topology;
  const SimOptions& options;
  const fabric::simulation::Report& report;
};

// `seconds`: of processor time that the simulation took.
std::string sim_text(const SimRun& run, double seconds);
// The same bytes for the same options and topology.
std::string sim_json(const SimRun& run);
// "sw1:2 waits for sw2:2 waits for ..."
std::string deadlock_text(const fabric::simulation::Report& report);

}  // namespace splitnic::tools
