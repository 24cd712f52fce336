// `splitnic ethtool`, `vlan`, `filter` and `qos`, and `list` of a host: the NIC at the I/O unit,
// from the host's side. `ethtool` itself reaches the host's interface only. docs/CLI.md
#pragma once

#include <string>
#include <vector>

#include "control/config/cli_app.h"

namespace splitnic::tools {

// As typed.
struct NicArguments {
  std::string interface;
  std::vector<std::string> words;  // behind the interface
  bool driver = false;
  bool address = false;
  bool channels = false;
  bool rings = false;
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
// The NICs that the I/O unit of the host with this interface lends; "": of the only host.
int run_list_of_host(const std::string& socket, const std::string& interface, bool json);
int run_filter(const std::string& socket, const NicArguments& typed);
int run_vlan(const std::string& socket, const NicArguments& typed);

}  // namespace splitnic::tools
