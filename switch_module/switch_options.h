// The command line and configuration file of splitnic-switch, as checked values. docs/CLI.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/daemon/common_options.h"
#include "control/identity.h"

namespace splitnic::fabric_switch {

struct PortOption {
  control::Endpoint at;
  bool connects = false;  // to a port of another switch
};

struct SwitchOptions {
  std::vector<PortOption> ports;  // port 1, 2, ...; all of one carrier
  // Of each subnet that this is a switch of: with several it is a router between them.
  std::vector<std::string> topologies;
  std::string lan;  // the interface of the leg to a LAN, at the port behind the last; "": none
  std::optional<std::uint8_t> manage;  // the priority of the subnet manager in this switch
  control::CommonOptions common;
  // Of the leg; 0: there is none.
  std::uint8_t lan_port() const {
    return lan.empty() ? 0 : static_cast<std::uint8_t>(ports.size() + 1);
  }
};

// Pure, but for reading the --config file. `machine` is the first part of the default --name:
// MACHINE-switch.
control::ParseOutcome<SwitchOptions> parse(int argc, const char* const* argv,
                                           const std::string& machine = control::machine_name());

}  // namespace splitnic::fabric_switch
