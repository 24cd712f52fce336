// The command line and configuration file of splitnic-switch, as checked values. docs/CLI.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/daemon/common_options.h"
#include "control/identity.h"
#include "control/parse_outcome.h"
#include "control/values.h"

namespace splitnic::fabric_switch {

struct PortOption {
  control::Endpoint at;
  bool connects = false;  // to a port of another switch
};

struct SwitchOptions {
  std::vector<PortOption> ports;  // port 1, 2, ...; all of one carrier
  // Of each subnet that this is a switch of: with several it is a router between them.
  std::vector<std::string> topologies;
  std::optional<std::uint8_t> manage;  // the priority of the subnet manager in this switch
  control::CommonOptions common;
};

// Pure, but for reading the --config file. `machine` is the first part of the default --name:
// MACHINE-switch.
control::ParseOutcome<SwitchOptions> parse(int argc, const char* const* argv,
                                           const std::string& machine = control::machine_name());

}  // namespace splitnic::fabric_switch
