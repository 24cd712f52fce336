// `splitnic list`: the NICs that an I/O unit lends, to a host that runs, or, by a short connection,
// to whoever may become one. docs/CLI.md
#pragma once

#include <string>
#include <vector>

#include "control/config/cli_app.h"
#include "control/daemon/key_options.h"

namespace splitnic::tools {

// As typed.
struct ListArguments {
  std::string from;  // the interface of a host, or the address of an I/O unit
  control::KeyArguments keys;
  std::string peer;
  bool is_insecure_lab = false;
  bool json = false;
  std::vector<const CLI::Option*> for_unit;  // --key-file and the like
};

// Returns the command.
CLI::App* add_list(CLI::App& app, ListArguments& into);
// Returns the exit status. `socket` is as of --control.
int run_list(const std::string& socket, const ListArguments& typed);

}  // namespace splitnic::tools
