// `splitnic sim` simulates a whole fabric from its topology file. docs/simulator.md
#pragma once

#include "tools/sim_options.h"

namespace splitnic::tools {

// Returns the exit status, having printed the results, or the topology of --make: 1 if the fabric
// has a deadlock, which is also one line on stderr.
int run_sim(const SimOptions& options);

}  // namespace splitnic::tools
