// The data thread of a switch: its carriers, the forwarding core and subnet management, which its
// loop drives; of a router: those of each of its subnets. It has no frame ports, and no queue pairs
// but those of a leg to a LAN, which is a node in this process. Threads: as for control::Worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/daemon/followed_names.h"
#include "control/daemon/raw_leg.h"
#include "control/daemon/worker.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_manager.h"
#include "fabric_emul/switching/router.h"
#include "fabric_emul/switching/switch.h"
#include "lan_bridge/ports/tun_device.h"
#include "switch_module/switch_admin.h"
#include "switch_module/switch_options.h"
#include "switch_module/topology_file.h"

namespace splitnic::fabric_switch {

class SwitchWorker final : public control::Worker {
 public:
  // `options` outlives this.
  SwitchWorker(const control::Process& process, const SwitchOptions& options);

  // Reads the topology files, and checks that they fit the options and each other.
  base::Status read();
  using Endpoints = std::vector<std::optional<control::Endpoint>>;
  // Opens the ports that a topology has something at, and no others, each at the endpoint that `at`
  // has for it. After an error the next call continues with the port that had it. REQUIRES that
  // read() succeeded, and an endpoint for each port that is_used().
  base::Status open(const Endpoints& at);
  // Of a port by its place in the options. Open: it is, or is left out.
  bool is_open(std::size_t index) const { return index < opened_; }
  bool is_used(std::size_t index) const {
    return at_port(static_cast<std::uint8_t>(index + 1)) != nullptr;
  }
  // Follows the names of ports that connect, from now on; `lookups` and `at` are as the options.
  void follow_names(std::vector<std::unique_ptr<control::NameLookup>> lookups, const Endpoints& at);

  // The files of the options, in their order. REQUIRES that read() succeeded.
  std::vector<TopologyFile> topologies() const;
  // Lanes and partitions are those of this topology, of the file of this number, from now on: of
  // this switch, or as those that its subnet manager sets. In the data thread. REQUIRES that it
  // differs from the file in nothing else.
  enum class PolicyChange : std::uint8_t {
    kDone,
    kStandsBy,     // another manager is in force, and those of its file are
    kIsOfManager,  // a manager sets them, and none is here
  };
  PolicyChange set_policy(std::size_t file, fabric::Topology topology);

  control::Admin& admin() override { return admin_; }
  int datagram_fd() const override { return tun_ ? tun_->fd() : -1; }
  bool wants_datagrams() const override { return leg_ && leg_->wants_input(); }
  bool reads_carrier(std::size_t index) const override {
    return at_port(numbers_[index])->at->may_read(numbers_[index]);
  }
  bool step(base::Time now) override;
  base::Time deadline() const override;
  std::uint64_t bytes_processed() const override;
  std::string status() const override;
  bool is_drained() const override;
  void stop(base::Time now) override;

 private:
  struct Subnet {
    std::string path;
    TopologyFile file;
    std::unique_ptr<fabric::Switch> at{};
    std::optional<fabric::SubnetAgent> agent{};
    std::optional<fabric::SubnetManager> manager{};
  };
  base::Status read_files();
  base::Status check_router() const;
  base::Status make_switches();
  void make_management();
  base::Status check_own_key(const Subnet& subnet) const;
  base::Status check_port(const Subnet& subnet, std::uint8_t number) const;
  // The subnet that has something at this port; null: none has.
  const Subnet* at_port(std::uint8_t number) const;
  base::Status open_port(std::uint8_t number, const PortOption& port, const control::Endpoint& at);
  base::Status check_lan() const;
  base::Status open_lan();
  // Returns the options that all ports have, and the EUI-64 of the switch where it has no keys.
  fabric::PortConfig port_config() const;
  bool is_shm() const { return !options_.ports.empty() && options_.ports.front().at.is_shm(); }
  void follow_names(base::Time now);
  void visit_all_carriers(const base::CounterVisitor& visitor) const;

  const SwitchOptions& options_;
  SwitchAdmin admin_;
  std::vector<std::unique_ptr<Subnet>> subnets_;
  std::optional<fabric::Router> router_;    // with several subnets
  std::vector<std::uint8_t> numbers_;       // of the ports, in the order of their carriers
  std::size_t opened_ = 0;                  // ports of the options
  control::FollowedNames names_;            // by the place of the carrier
  std::vector<const fabric::Link*> links_;  // the same; null: the port does not connect by a name
  std::uint64_t addresses_ = 0;             // another address of the name of a switch is tried
  std::unique_ptr<lan::TunDevice> tun_;     // of the leg to a LAN
  std::optional<control::RawLeg> leg_;
};

}  // namespace splitnic::fabric_switch
