// The NIC as each host sees it: the replies to CfgUtil requests. Each host has its own MAC, filter,
// VLANs, offloads, and start and stop. A host never changes the real LAN NIC, except that with
// `--lan-mtu follow` its SET_MTU reaches it. Frames always have the virtio-net header: INIT_NIC
// without the VNET feature is a bad value, START without such an INIT_NIC is not permitted, and
// SET_OFFLOADS leaves it on. docs/nic_service.md#init_nic Thread: the data thread.
#pragma once

#include "iou_module/host_table.h"

namespace splitnic::iou {

struct NicPolicy {
  bool mtu_follows = false;  // --lan-mtu follow
  bool may_be_promiscuous = true;
  std::uint32_t queues = 1;  // of the I/O unit; each has its own NIC service
};

class NicService {
 public:
  // `lan` and `hosts` outlive it.
  NicService(lan::FramePort& lan, const NicPolicy& policy, const HostTable& hosts)
      : lan_(lan), policy_(policy), hosts_(hosts) {}

  messaging::CfgReply serve(AttachedHost& host, const messaging::CfgRequest& request);

 private:
  messaging::CfgReply mac_config(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply utility(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply init_nic(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_mac(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_filter(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_mtu(AttachedHost& host, const messaging::CfgRequest& request);
  messaging::CfgReply vlan(AttachedHost& host, const messaging::CfgRequest& request);
  void reset(NicSettings& nic);
  messaging::CfgReply get_stats(AttachedHost& host, const messaging::CfgRequest& request);

  lan::FramePort& lan_;
  NicPolicy policy_;
  const HostTable& hosts_;  // of this NIC
};

}  // namespace splitnic::iou
