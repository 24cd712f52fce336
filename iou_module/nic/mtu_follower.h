// `--lan-mtu follow`: the MTU of the NIC is the one that a host has requested last, but never less
// than another host with a started NIC has, and it changes at most once in kInterval, because many
// NICs reset their link then. A request that comes too early is carried out later: of those of
// several hosts the largest one, or the newest if the NIC refuses it. A NIC that was away gets
// the largest MTU that a host with a started NIC has requested. Thread: the data thread of queue 0.
// [M-7] [B-05]
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "iou_module/hosts/host_table.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::iou {

class MtuFollower {
 public:
  static constexpr base::Duration kInterval = std::chrono::seconds(10);

  // Both outlive it.
  MtuFollower(lan::FramePort& lan, const HostTable& hosts) : lan_(lan), hosts_(hosts) {}

  // A host requests this MTU. An error: the NIC refused it.
  base::Status request(std::uint32_t mtu, AttachedHost& host, base::Time now);
  // The NIC is back, with whatever MTU it has.
  void on_return(base::Time now);
  // Carries out requests that came too early. Returns true if the MTU of the NIC changed.
  bool step(base::Time now);
  base::Time deadline() const { return wanted_ == 0 ? base::kNever : not_before_; }

 private:
  base::Status set(base::Time now);
  base::Status change(std::uint32_t mtu, base::Time now);
  // Returns the largest MTU that a host has requested since the last set(), and forgets them all.
  std::uint32_t take_deferred();
  // The largest MTU of the hosts with a started NIC, but of by_.
  std::uint32_t mtu_of_others() const;

  lan::FramePort& lan_;
  const HostTable& hosts_;
  std::uint32_t wanted_ = 0;  // 0: nothing is pending
  HostId by_{};               // who wants it
  base::Time not_before_{};
};

}  // namespace splitnic::iou
