// The NIC as each host sees it: the answers to CfgUtil requests (requirements 2.8). Per host: MAC,
// filter, VLANs, offloads, start and stop. The real LAN NIC changes for nobody; only `--lan-mtu
// follow` lets a host's SET_MTU reach it. Frames have the virtio-net header always: INIT_NIC
// without the VNET feature is a bad value, START without such an INIT_NIC is not permitted, and
// SET_OFFLOADS leaves it on. docs/wire/message.md#init_nic Thread: the data thread.
#pragma once

#include <functional>

#include "iou_module/host_session.h"

namespace splitnic::iou {

struct NicPolicy {
  bool mtu_follows = false;  // --lan-mtu follow
  bool may_be_promiscuous = true;
};

class NicService {
 public:
  // `taken` tells whether another host has this MAC.
  using MacTaken = std::function<bool(const HostSession&, const lan::MacAddress&)>;

  NicService(lan::FramePort& lan, const NicPolicy& policy, MacTaken taken)
      : lan_(lan), policy_(policy), taken_(std::move(taken)) {}

  messaging::CfgReply answer(HostSession& host, const messaging::CfgRequest& request);

 private:
  messaging::CfgReply mac_config(HostSession& host, const messaging::CfgRequest& request);
  messaging::CfgReply utility(HostSession& host, const messaging::CfgRequest& request);
  messaging::CfgReply init_nic(HostSession& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_mac(HostSession& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_filter(HostSession& host, const messaging::CfgRequest& request);
  messaging::CfgReply set_mtu(HostSession& host, const messaging::CfgRequest& request);
  messaging::CfgReply vlan(HostSession& host, const messaging::CfgRequest& request);
  void reset(NicSettings& nic);
  messaging::CfgReply get_stats(HostSession& host, const messaging::CfgRequest& request);

  lan::FramePort& lan_;
  NicPolicy policy_;
  MacTaken taken_;
};

}  // namespace splitnic::iou
