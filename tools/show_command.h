// `splitnic show`: the state of one program, or of all of this machine, and, with --rate, their
// traffic. docs/CLI.md
#pragma once

#include <string>

#include "control/config/cli_app.h"

namespace splitnic::tools {

// As typed.
struct ShowArguments {
  bool json = false;
  bool rate = false;
  bool verbose = false;
  std::string interval;  // "": the default
};

// Returns the command.
CLI::App* add_show(CLI::App& app, ShowArguments& into);
// Returns the exit status. `socket` is as of socket_of() in commands.h.
int run_show(const std::string& socket, const ShowArguments& typed);

}  // namespace splitnic::tools
