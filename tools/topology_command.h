// `splitnic show topology`: the subnet as its manager has found it. docs/CLI.md
#pragma once

#include <string>

#include "control/config/cli_app.h"

namespace splitnic::tools {

// As typed.
struct TopologyArguments {
  std::string node;
  std::string socket;
  bool json = false;
  bool dot = false;
  bool svg = false;
};

// As a subcommand of `show`.
void add_topology(CLI::App& show, TopologyArguments& into);
// Returns the exit status.
int run_topology(const TopologyArguments& typed);

}  // namespace splitnic::tools
