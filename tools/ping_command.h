// `splitnic ping`: echo round trips between host and I/O unit. docs/CLI.md
#pragma once

#include <string>

#include "control/config/cli_app.h"

namespace splitnic::tools {

// As typed.
struct PingArguments {
  bool json = false;
  std::string count = "5";
  std::string interval;  // "": none
};

// Returns the command.
CLI::App* add_ping(CLI::App& app, PingArguments& into);
// Returns the exit status. `socket` is that of --control, or empty.
int run_ping(const std::string& socket, const PingArguments& typed);

}  // namespace splitnic::tools
