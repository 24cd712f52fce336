// The requests of `splitnic ethtool`, `vlan`, `filter`, `qos` and `list` to the NIC at the I/O unit
// (docs/CLI.md), as a pair of words on the control socket. Parsing only: the command checks with it
// before it asks the program, and the host module checks what arrives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::control {

// An offload that one can switch: a bit of lan::Offload, and its names as ethtool has them.
struct Feature {
  std::uint32_t bit;
  std::string_view name;   // in lists
  std::string_view alias;  // what a person types
};
std::span<const Feature> nic_features();

struct NicRequest {
  enum class Kind : std::uint8_t {
    kLink,
    kDriver,
    kAddress,
    kChannels,
    kRings,
    kFeatures,
    kSetFeatures,
    kStatistics,
    kClearStatistics,
    kReset,
    kVlans,
    kVlanAdd,
    kVlanDel,
    kPvid,
    kSetChannels,
    kCoalescing,
    kSetCoalescing,
    kQos,
    kSetQos,
    kClearQos,
    kList,
    kFilter,
    kFilterAdd,
    kFilterDel,
    kFilterGroups,
  };
  // The I/O unit has the same bounds (host_module/nic_run.cc compares them).
  static constexpr std::uint32_t kQueuesMax = 8;
  static constexpr std::uint8_t kLevelMax = 15;

  // A value that is not there stays as it is.
  struct CoalescingChange {
    static constexpr std::uint32_t kMicrosecondsMax = 100'000;
    static constexpr std::uint32_t kFramesMax = 1024;
    static constexpr std::uint32_t kBytesMax = 1 << 20;

    std::optional<std::uint32_t> microseconds{}, frames{}, bytes{};
    std::optional<bool> is_adaptive{};
    friend bool operator==(const CoalescingChange&, const CoalescingChange&) = default;
  };
  struct QosChange {
    bool is_code_point = false;           // else an 802.1p priority
    std::uint8_t number = 0;              // of it
    std::optional<std::uint8_t> level{};  // none: no longer mapped
    friend bool operator==(const QosChange&, const QosChange&) = default;
  };
  Kind kind = Kind::kLink;
  std::string group;               // kStatistics, kClearStatistics; empty: all
  std::uint32_t features_on = 0;   // kSetFeatures: bits of lan::Offload
  std::uint32_t features_off = 0;  // likewise; none is in both
  std::uint16_t vlan = 0;          // kVlanAdd, kVlanDel; kPvid, where 0 means none
  lan::MacAddress mac{};           // kFilterAdd, kFilterDel
  bool all_multicast = true;       // kFilterGroups
  std::uint32_t queues = 0;        // kSetChannels
  CoalescingChange coalescing{};   // kSetCoalescing
  std::vector<QosChange> qos{};    // kSetQos
  friend bool operator==(const NicRequest&, const NicRequest&) = default;
};

// Returns true if the request changes nothing at either end.
bool only_looks(NicRequest::Kind kind);

// `what` is link, driver, address, channels, rings, features, set-features, statistics,
// clear-statistics, reset, vlans, vlan-add, vlan-del, pvid, set-channels, coalescing,
// set-coalescing, qos, set-qos, clear-qos, list, filter, filter-add, filter-del or
// filter-multicast. An error is one sentence that names what is accepted.
base::Result<NicRequest> parse_nic_request(const std::string& what, const std::string& value);

}  // namespace splitnic::control
