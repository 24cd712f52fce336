// `splitnic stats`: the counters of a program, those that match a pattern, as values or as rates.
// docs/CLI.md
#pragma once

#include <string>

#include "control/config/cli_app.h"

namespace splitnic::tools {

// As typed.
struct StatsArguments {
  std::string pattern;
  bool json = false;
  bool nonzero = false;
  bool rate = false;
  bool watch = false;
  std::string interval;  // "": the default
};

CLI::App* add_stats(CLI::App& app, StatsArguments& into);
// Returns the exit status. `socket` is as of --control.
int run_stats(const std::string& socket, const StatsArguments& typed);

}  // namespace splitnic::tools
