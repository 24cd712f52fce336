// A switch that manages as the target of the suite, in this process and with a manual clock: it has
// the topology that the suite requires. With keys every port is sealed. Between a port and the
// suite may be a relay that breaks a rule.
//
//   ManagerTarget target({.is_keyed = true, .rule_at = rule_at});
//   ManagerSuite suite(target.lines(), {});
#pragma once

#include "conformance/manager_suite.h"
#include "conformance/subnet.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_manager.h"
#include "tests/conformance/ports_target.h"

namespace splitnic::conformance {

class ManagerTarget final : public PortsTarget {
 public:
  static constexpr std::uint8_t kPriority = 100;

  explicit ManagerTarget(const PortsTargetConfig& config)
      : PortsTarget(manager_topology({}), std::string(kManagerName), kManagerPorts, config),
        agent_(tested(), fabric::Eui64(0x500)),
        manager_(topology(), std::string(kManagerName), kPriority, agent_, random()) {}

 private:
  bool step(base::Time now) override {
    agent_.step(now);
    manager_.step(now);
    return PortsTarget::step(now);
  }

  fabric::SubnetAgent agent_;
  fabric::SubnetManager manager_;
};

}  // namespace splitnic::conformance
