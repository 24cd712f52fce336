// The NIC as each host sees it: the replies to CfgUtil requests. Each host has its own MAC, filter,
// VLANs, offloads, and start and stop, as far as its rights permit [H-1] [H-2] [M-4]. A host never
// changes the real LAN NIC, except that with `--lan-mtu follow` its SET_MTU reaches it [M-7], and
// the settings of the owner of an exclusive NIC do (nic_ownership.h).
// Frames always have the virtio-net header: INIT_NIC without the VNET feature is a bad value, START
// without such an INIT_NIC is not permitted, and SET_OFFLOADS leaves it on.
// docs/nic_service.md#init_nic Thread: the data thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "iou_module/hosts/host_table.h"
#include "iou_module/nic/mtu_follower.h"
#include "iou_module/nic/nic_ownership.h"
#include "iou_module/policy/address_policy.h"
#include "iou_module/policy/rights_source.h"

namespace splitnic::iou {

struct NicPolicy {
  bool mtu_follows = false;  // --lan-mtu follow; at queue 0 only
  OwnershipRules ownership{};
  std::uint32_t queues = 1;  // of the I/O unit; each has its own NIC service
};

// A NIC of the I/O unit, as a host sees it that may use it.
struct ListedNic {
  std::uint32_t number = 0;
  lan::PortState state{};
  bool is_in_use = false;  // by this host
};

class NicService {
 public:
  using NicsFor = std::function<std::vector<ListedNic>(const AttachedHost& host)>;

  // `lan`, `hosts` and `rights` outlive it.
  NicService(lan::FramePort& lan, const NicPolicy& policy, HostTable& hosts,
             const RightsSource& rights, NicsFor nics_for)
      : lan_(lan),
        policy_(policy),
        hosts_(hosts),
        nics_for_(std::move(nics_for)),
        addresses_(hosts, rights),
        mtu_(lan, hosts) {}

  // Each request and its status is a line of the log for debugging.
  messaging::CfgReply serve(AttachedHost& host, const messaging::CfgRequest& request);
  // Brings the settings of a host within its rights. Returns true if something was taken away.
  // `is_new`: its rights or its settings are. Otherwise an address that the LAN uses meanwhile
  // stays, and only one that is listed for another host now is lost.
  bool enforce(AttachedHost& host, bool is_new);
  // The NIC was away.
  void on_return() {
    if (policy_.mtu_follows) mtu_.on_return(hosts_.time());
  }
  // Work that is due by time alone. Returns true if the state of the NIC changed.
  bool step(base::Time now) { return mtu_.step(now); }
  base::Time deadline() const { return mtu_.deadline(); }

 private:
  messaging::CfgReply carry_out(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply mac_config(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply utility(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply init_nic(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_mac(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_filter(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_mtu(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply vlan(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_queues(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_coalesce(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_qos(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply list_nics(const AttachedHost& host);
  void reset(AttachedHost& host);
  std::uint32_t queues_of(const AttachedHost& host) const;
  // Returns why the host may not have these settings, or nothing.
  std::optional<Refusal> check_settings(AttachedHost& host, const NicSettings& settings);
  AddressPolicy::Own own_address() const;
  void log_refusal(AttachedHost& host, const lan::MacAddress& mac, Refusal why);
  messaging::CfgReply get_stats(AttachedHost& host, const messaging::CfgRequest& request);

  lan::FramePort& lan_;
  NicPolicy policy_;
  HostTable& hosts_;  // of this NIC
  NicsFor nics_for_;
  AddressPolicy addresses_;
  MtuFollower mtu_;
};

}  // namespace splitnic::iou
