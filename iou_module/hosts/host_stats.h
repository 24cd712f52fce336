// The counters of one host: by AttachedHostCounter, by kind of frame (Rmon), and the values of both
// when the host cleared them. Those of AttachedHostCounter stay in the sums of its NIC when it is
// removed.
// Thread: the data thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/counters.h"
#include "iou_module/hosts/rmon.h"

namespace splitnic::iou {

enum class AttachedHostCounter {
  kToHostFrames,
  kToHostBytes,
  kDropHostFull,
  kDropTooLong,
  kDropVlan,
  kDropToHostEnded,  // queued, but the connection ended before it could be pushed
  kLost,             // pushed, but the connection ended before the host had acknowledged it
  kSplit,
  kFromHostFrames,
  kFromHostBytes,
  kDropSpoof,
  kDropVnet,
  kDropStopped,
  kDropShort,
  kDropAway,
  kDropEnded,       // received, but the connection ended before the LAN port took it
  kDropStorm,       // a group frame beyond the limit of group frames
  kDropRate,        // beyond the limit of bits or frames
  kDropVlanSent,    // of a VLAN that it may not use
  kRefusedAddress,  // SET_MAC or SET_FILTER with an address that it may not have
  kRefusedPromiscuous,
  kRefusedVlan,
  kRefusedLevel,  // SET_QOS of a host whose service level its rights set
  kBusy,          // requests beyond HostLimits::kRequestsPerSecond
  kCount_
};

struct HostStats {
  base::Counters<AttachedHostCounter> counters;
  Rmon rmon;
  StatsBaseline baseline;

  void count(AttachedHostCounter counter, std::uint64_t n = 1) { counters.add(counter, n); }
  // A frame was pushed to the host. Frames are [virtio-net header][Ethernet frame].
  void count_to_host(base::Bytes frame) {
    counters.add(AttachedHostCounter::kToHostFrames);
    counters.add(AttachedHostCounter::kToHostBytes, frame.size());
    rmon.count_to_host(frame);
  }
  // A frame of the host was forwarded or dropped.
  void count_from_host(base::Bytes frame) {
    counters.add(AttachedHostCounter::kFromHostFrames);
    counters.add(AttachedHostCounter::kFromHostBytes, frame.size());
    rmon.count_from_host(frame);
  }
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::AttachedHostCounter> {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"iou.to_host.frames",
                                       "iou.to_host.bytes",
                                       "lan.rx.drop.host_full",
                                       "lan.rx.drop.too_long",
                                       "lan.rx.drop.vlan",
                                       "lan.rx.drop.ended",
                                       "iou.to_host.lost",
                                       "iou.to_host.split",
                                       "iou.from_host.frames",
                                       "iou.from_host.bytes",
                                       "iou.from_host.drop.spoof",
                                       "iou.from_host.drop.vnet",
                                       "iou.from_host.drop.stopped",
                                       "iou.from_host.drop.short",
                                       "iou.from_host.drop.away",
                                       "iou.from_host.drop.ended",
                                       "iou.from_host.drop.storm",
                                       "iou.from_host.drop.rate",
                                       "iou.from_host.drop.vlan",
                                       "iou.from_host.refused_address",
                                       "iou.from_host.refused_promiscuous",
                                       "iou.from_host.refused_vlan",
                                       "iou.from_host.refused_level",
                                       "iou.from_host.busy"});
};
