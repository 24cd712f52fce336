// The control socket of a switch: its ports with who is there, its links, the subnet manager that
// it obeys, the subnet if that is the one here, and every counter. A router has all ports, the sums
// of its counters, and shows one subnet: the first with a manager. `set` and `ping` are for hosts
// and I/O units. Thread: the data thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "control/daemon/admin.h"
#include "control/daemon/raw_leg.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_manager.h"
#include "fabric_emul/switching/router.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/switching/topology.h"
#include "switch_module/switch_options.h"

namespace splitnic::fabric_switch {

class SwitchAdmin final : public control::Admin {
 public:
  // All outlive this.
  SwitchAdmin(const SwitchOptions& options, base::Clock& clock, VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)), options_(options) {}
  // A subnet that this is a switch of. Without a subnet manager `manages` is null.
  struct Subnet {
    const fabric::Switch* at;
    const fabric::SubnetAgent* agent;
    const fabric::Topology* topology;
    const fabric::SubnetManager* manages;
  };
  // Before this call the state is "connecting" and there is nothing to show. `router` is null in a
  // switch of one subnet.
  void attach(std::vector<Subnet> subnets, const fabric::Router* router) {
    subnets_ = std::move(subnets);
    router_ = router;
  }
  // The leg to a LAN, which is there from now on.
  void set_leg(const control::RawLeg& leg) { leg_ = &leg; }

 private:
  control::Snapshot snapshot(control::SnapshotParts parts) const override;
  base::Result<messaging::Connection*> connection_to_ping() override;
  base::Result<control::FabricMap> fabric_map() const override;
  static void add_ports(control::Snapshot& s, const fabric::Switch& at,
                        control::SnapshotParts parts);
  static std::optional<control::ManagerInfo> manager(const Subnet& of);

  const SwitchOptions& options_;
  std::vector<Subnet> subnets_;
  const fabric::Router* router_ = nullptr;
  const control::RawLeg* leg_ = nullptr;
};

}  // namespace splitnic::fabric_switch
