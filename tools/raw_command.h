// The command `splitnic raw`: this machine as an end node of a fabric whose Raw queue pairs reach a
// LAN over the leg of a switch, behind an interface for IPv6. Runs until it is stopped, as the
// other programs of the fabric do. docs/CLI.md#ipv6-and-a-lan
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "control/config/values.h"
#include "control/daemon/common_options.h"

namespace CLI {
class App;
}

namespace splitnic::tools {

struct RawArguments {
  std::string connect, interface;
  std::vector<std::string> peers;
  control::CommonArguments common;
};

struct RawOptions {
  control::PeerPlace leg;  // with a node, and an address
  std::string interface;
  control::CommonOptions common;
};

// For the list of commands and its help.
void add_raw(CLI::App& app, RawArguments& into);
// Reads the words of the command, of which the first is its name, and the file of --config. Returns
// the exit status.
int run_raw(int argc, const char* const* argv);

}  // namespace splitnic::tools
