// The frames of a host's NIC by kind, as RMON counts those of a LAN. Thread: the data thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/counters.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame_ring.h"

namespace splitnic::iou {

// The same counters in each direction, in the same order.
enum class RmonCounter : std::uint8_t {
  kToHostBytes,  // of Ethernet frames, without the FCS
  kToHostUnicast,
  kToHostMulticast,
  kToHostBroadcast,
  kToHostUntagged,
  kToHostTagged,
  kToHostSize64,  // sizes as on a LAN, so with the FCS: up to 64, 65 to 127, ... (RFC 2819)
  kToHostSize127,
  kToHostSize255,
  kToHostSize511,
  kToHostSize1023,
  kToHostSize1518,
  kToHostSizeMore,
  kFromHostBytes,
  kFromHostUnicast,
  kFromHostMulticast,
  kFromHostBroadcast,
  kFromHostUntagged,
  kFromHostTagged,
  kFromHostSize64,
  kFromHostSize127,
  kFromHostSize255,
  kFromHostSize511,
  kFromHostSize1023,
  kFromHostSize1518,
  kFromHostSizeMore,
  kCount_
};

// Counts frames by kind. A super-frame counts as one frame of its whole length. Frames are
// [virtio-net header][Ethernet frame].
class Rmon {
 public:
  void count_to_host(base::Bytes frame) { count(RmonCounter::kToHostBytes, frame); }
  // A frame that is shorter than an Ethernet header is not counted here.
  void count_from_host(base::Bytes frame) { count(RmonCounter::kFromHostBytes, frame); }
  const base::Counters<RmonCounter>& counters() const { return counters_; }

 private:
  void count(RmonCounter first, base::Bytes frame) {
    if (frame.size() < lan::kVnetHeaderBytes + lan::kEthernetBytes) return;
    const std::byte* head = frame.data() + lan::kVnetHeaderBytes;
    const std::size_t bytes = frame.size() - lan::kVnetHeaderBytes;
    add(first, 0, bytes);
    add(first, 1 + cast_of(head), 1);
    add(first, 4 + (is_tagged(head) ? 1U : 0U), 1);
    add(first, 6 + size_class(bytes + kFcsBytes), 1);
  }
  void add(RmonCounter first, unsigned offset, std::uint64_t n) {
    counters_.add(static_cast<RmonCounter>(static_cast<unsigned>(first) + offset), n);
  }
  // 0 unicast, 1 multicast, 2 broadcast.
  static unsigned cast_of(const std::byte* destination) {
    std::uint32_t high = 0;
    std::uint16_t low = 0;
    std::memcpy(&high, destination, sizeof(high));
    std::memcpy(&low, destination + sizeof(high), sizeof(low));
    const bool is_all = high == std::numeric_limits<std::uint32_t>::max() &&
                        low == std::numeric_limits<std::uint16_t>::max();
    return (std::to_integer<unsigned>(destination[0]) & 1U) + (is_all ? 1U : 0U);
  }
  static bool is_tagged(const std::byte* head) {
    const auto type = std::to_integer<unsigned>(head[lan::kEthertypeOffset]) << 8 |
                      std::to_integer<unsigned>(head[lan::kEthertypeOffset + 1]);
    return type == lan::kEthertypeVlan || type == lan::kEthertypeServiceVlan;
  }
  static unsigned size_class(std::size_t bytes) {
    return (bytes > 64 ? 1U : 0U) + (bytes > 127 ? 1U : 0U) + (bytes > 255 ? 1U : 0U) +
           (bytes > 511 ? 1U : 0U) + (bytes > 1023 ? 1U : 0U) + (bytes > 1518 ? 1U : 0U);
  }

  static constexpr std::size_t kFcsBytes = 4;
  base::Counters<RmonCounter> counters_;
};

// The values of a host's counters when it cleared them.
class StatsBaseline {
 public:
  std::uint64_t since(std::string_view name, std::uint64_t value) const {
    const auto at = values_.find(name);
    return at == values_.end() ? value : value - at->second;
  }
  void set(std::string_view name, std::uint64_t value) {
    values_.insert_or_assign(std::string(name), value);
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> values_;
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::RmonCounter> {
  static constexpr std::array<std::string_view, 26> kNames = {
      "iou.to_host.ethernet_bytes", "iou.to_host.unicast",          "iou.to_host.multicast",
      "iou.to_host.broadcast",      "iou.to_host.untagged",         "iou.to_host.tagged",
      "iou.to_host.size.64",        "iou.to_host.size.127",         "iou.to_host.size.255",
      "iou.to_host.size.511",       "iou.to_host.size.1023",        "iou.to_host.size.1518",
      "iou.to_host.size.more",      "iou.from_host.ethernet_bytes", "iou.from_host.unicast",
      "iou.from_host.multicast",    "iou.from_host.broadcast",      "iou.from_host.untagged",
      "iou.from_host.tagged",       "iou.from_host.size.64",        "iou.from_host.size.127",
      "iou.from_host.size.255",     "iou.from_host.size.511",       "iou.from_host.size.1023",
      "iou.from_host.size.1518",    "iou.from_host.size.more"};
};
