// `splitnic monitor`: the events of the programs of this machine, as they happen. docs/CLI.md
#pragma once

#include <string>

#include "control/config/cli_app.h"

namespace splitnic::tools {

// As typed.
struct MonitorArguments {
  std::string past = "0";
  bool json = false;
};

CLI::App* add_monitor(CLI::App& app, MonitorArguments& into);
// Runs until a signal or an error; returns the exit status. `socket` is as of --control; "": every
// program in the default folder, also those that start later.
int run_monitor(const std::string& socket, const MonitorArguments& typed);

}  // namespace splitnic::tools
