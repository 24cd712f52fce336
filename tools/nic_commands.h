// `splitnic ethtool`, `vlan`, `filter`, `qos` and `list`: the NIC at the I/O unit, from the host's
// side. `ethtool` itself reaches the host's interface only. docs/CLI.md
#pragma once

#include <string>
#include <vector>

#include "control/cli_app.h"

namespace splitnic::tools {

// As typed.
struct NicArguments {
  std::string interface;
  std::vector<std::string> words;  // behind the interface
  bool driver = false;
  bool address = false;
  bool channels = false;
  bool set_channels = false;
  bool coalescing = false;
  bool set_coalescing = false;
  bool features = false;
  bool set_features = false;
  bool statistics = false;
  bool clear_statistics = false;
  bool reset = false;
  bool json = false;
};

// Returns the commands.
std::vector<CLI::App*> add_nic_commands(CLI::App& app, NicArguments& into);
// Each returns the exit status. `socket` is as of --control.
int run_ethtool(const std::string& socket, const NicArguments& typed);
int run_qos(const std::string& socket, const NicArguments& typed);
int run_list(const std::string& socket, const NicArguments& typed);
int run_filter(const std::string& socket, const NicArguments& typed);
int run_vlan(const std::string& socket, const NicArguments& typed);

}  // namespace splitnic::tools
