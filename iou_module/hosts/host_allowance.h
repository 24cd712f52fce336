// The rights of one host in force on its connection: the memory that the connection may use, the
// VLANs of its frames, and its limits of frames and requests, which outlive the connection
// (host_limits.h). A reload of the hosts file replaces the rights as a whole. Thread: the data
// thread. docs/hosts_file.md docs/nic_service.md#limits [H-2] [M-1] [M-2] [M-3] [M-4]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/memory_account.h"
#include "base/status.h"
#include "iou_module/hosts/host_limits.h"
#include "iou_module/hosts/host_rights.h"
#include "iou_module/hosts/vlan_rules.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::iou {

class HostAllowance {
 public:
  // `unit_queues`: among which the limits are divided, at least 1. `memory_usual`: in bytes over
  // all queues, of a host whose rights do not name it. `limits` null: new ones.
  HostAllowance(HostRights rights, std::uint32_t unit_queues, std::uint64_t memory_usual,
                std::shared_ptr<HostLimits> limits);

  const HostRights& rights() const { return rights_; }
  // Memory in use stays in use, and so does what is used up of the limits.
  void set_rights(HostRights rights);
  const VlanLimit& vlans() const { return vlans_; }
  // Of this connection; pieces of it are charged to the account.
  base::MemoryAccount& memory_account() { return memory_; }
  const base::MemoryAccount& memory_account() const { return memory_; }
  // Returns why a connection got no memory, for the host: its own limit, or the unit has none.
  base::Error memory_error() const;
  HostMeter& meter() { return limits_->meter; }
  // Takes one CfgUtil request. Returns false if it is beyond HostLimits::kRequestsPerSecond.
  bool take_request(base::Time now) { return limits_->requests.take(now); }

  // Returns true for the first refusal of promiscuous mode.
  bool is_first_sniff_refusal() { return !std::exchange(is_sniff_refused_, true); }
  // Returns true if the address was refused for the first time since another one was.
  bool is_new_refusal(const lan::MacAddress& mac) {
    return std::exchange(refused_mac_, mac) != mac;
  }

 private:
  const std::uint32_t unit_queues_;
  const std::uint64_t memory_usual_;
  HostRights rights_;
  base::MemoryAccount memory_;
  VlanLimit vlans_;
  const std::shared_ptr<HostLimits> limits_;  // not null
  std::optional<lan::MacAddress> refused_mac_{};
  bool is_sniff_refused_ = false;
};

}  // namespace splitnic::iou
