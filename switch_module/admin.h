// The control socket of a switch: its ports with who is there, its links, the subnet manager that
// it obeys, the subnet if that is the one here, and every counter. `set` and `ping` are for hosts
// and I/O units. Thread: the data thread.
#pragma once

#include <optional>
#include <string>

#include "control/daemon/admin.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_manager.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/switching/topology.h"
#include "switch_module/options.h"

namespace splitnic::fabric_switch {

class Admin final : public control::Admin {
 public:
  // All outlive this.
  Admin(const SwitchOptions& options, base::Clock& clock, VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)), options_(options) {}
  // Before this call the state is "connecting" and there is nothing to show. Without a subnet
  // manager `manages` is null.
  void attach(const fabric::Switch& to, const fabric::SubnetAgent& agent,
              const fabric::Topology& topology, const fabric::SubnetManager* manages) {
    switch_ = &to;
    agent_ = &agent;
    topology_ = &topology;
    manages_ = manages;
  }

 private:
  control::Snapshot snapshot() const override;
  base::Result<messaging::Connection*> connection_to_ping() override;
  base::Result<control::FabricMap> fabric_map() const override;
  std::optional<control::ManagerInfo> manager() const;

  const SwitchOptions& options_;
  const fabric::Switch* switch_ = nullptr;
  const fabric::SubnetAgent* agent_ = nullptr;
  const fabric::Topology* topology_ = nullptr;
  const fabric::SubnetManager* manages_ = nullptr;
};

}  // namespace splitnic::fabric_switch
