// A switch as the target of the suite, in this process: it has the topology that the suite
// requires.
//
//   SwitchTarget target({.is_keyed = true, .rule_at = rule_at});
//   SwitchSuite suite(target.lines(), {});
#pragma once

#include "conformance/switch_suite.h"
#include "tests/conformance/ports_target.h"

namespace splitnic::conformance {

class SwitchTarget final : public PortsTarget {
 public:
  explicit SwitchTarget(const PortsTargetConfig& config)
      : PortsTarget(switch_topology(kSwitchPorts, {}), std::string(kSwitchName), kSwitchPorts,
                    config) {}
};

}  // namespace splitnic::conformance
