// The NIC as each host sees it: the answers to CfgUtil requests (requirements 2.8). Per host: MAC,
// filter, VLANs, offloads, start and stop. The real LAN NIC changes for nobody; only `--lan-mtu
// follow` lets a host's SET_MTU reach it. Frames have the virtio-net header always: INIT_NIC
// without the VNET feature is a bad value, START without such an INIT_NIC is not permitted, and
// SET_OFFLOADS leaves it on. docs/nic_service.md#init_nic Thread: the data thread.
#pragma once

#include <functional>

#include "iou_module/attached_host.h"

namespace splitnic::iou {

struct NicPolicy {
  bool mtu_follows = false;  // --lan-mtu follow
  bool may_be_promiscuous = true;
};

class NicService {
 public:
  // `taken` tells whether another host has this MAC.
  using MacTaken = std::function<bool(const AttachedHost&, const lan::MacAddress&)>;

  NicService(lan::FramePort& lan, const NicPolicy& policy, MacTaken taken)
      : lan_(lan), policy_(policy), taken_(std::move(taken)) {}

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
  MacTaken taken_;
};

}  // namespace splitnic::iou
