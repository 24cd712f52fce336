// The configuration of a host's NIC, and the digest in the reply to GET_STATE: SHA-256 over the
// fields in this order, lists sorted, integers big endian. Two sides with the same digest have the
// same configuration. docs/protocol/cfgutil.md#digest
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "messaging/cfgutil/qos_map.h"

namespace splitnic::messaging {

// The times at which frames of the LAN are delivered to a host (SET_COALESCE): once the first of
// them has waited for `microseconds`, or `frames` or `bytes` of them wait.
// docs/nic_service.md#coalescing
struct Coalescing {
  static constexpr std::uint32_t kMicrosecondsMax = 100'000;
  static constexpr std::uint32_t kFramesMax = 1024;
  static constexpr std::uint32_t kBytesMax = 1 << 20;

  std::uint32_t microseconds = 0;  // 0: at once
  std::uint32_t frames = 0;        // 0: no limit
  std::uint32_t bytes = 0;         // with the virtio-net header; 0: no limit
  bool is_adaptive = false;        // a frame that comes alone is delivered at once

  bool is_valid() const {
    return microseconds <= kMicrosecondsMax && frames <= kFramesMax && bytes <= kBytesMax;
  }
  friend bool operator==(const Coalescing&, const Coalescing&) = default;
};

struct NicState {
  using Mac = std::array<std::uint8_t, 6>;
  static constexpr std::size_t kFilterEntriesMax = 256;  // of each list, at both ends

  Mac mac{};  // zero: none
  bool promiscuous = false;
  bool all_multicast = false;
  bool no_unicast = false;
  bool no_multicast = false;
  bool no_broadcast = false;
  std::vector<Mac> unicast, multicast;  // any order
  std::vector<std::uint16_t> vlans;     // any order
  std::uint16_t pvid = 0;
  std::uint32_t mtu = 0;
  std::uint64_t offloads = 0;  // feature bits in force
  std::uint32_t queues = 0;    // as SET_QUEUES has set it; 0: it has not
  Coalescing coalescing{};
  QosMap qos{};

  // Returns the bytes over which the digest is computed.
  std::string bytes() const;
  // Returns 32 bytes.
  std::string digest() const;
};

}  // namespace splitnic::messaging
