// The port of a target in this process.
#pragma once

#include "fabric_emul/link/port_config.h"
#include "tests/conformance/relay.h"

namespace splitnic::conformance {

inline fabric::PortConfig target_port(fabric::Eui64 eui64, bool is_full) {
  fabric::PortConfig port;
  port.eui64 = eui64;
  port.instance = 99;
  port.mcp_min = 256;
  if (is_full) {
    port.profile = fabric::LinkProfile::kFull;
    port.full = fabric::full_between_processes();
    port.full.receive_blocks = kFullTargetBlocks;
  }
  return port;
}

}  // namespace splitnic::conformance
