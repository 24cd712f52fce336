// The requests of `splitnic ethtool` and `splitnic vlan` to the NIC at the I/O unit (docs/CLI.md),
// as a pair of words on the control socket. Parsing only: the command checks with it before it asks
// the program, and the host module checks what arrives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

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
    kFeatures,
    kSetFeatures,
    kStatistics,
    kClearStatistics,
    kReset,
    kVlans,
    kVlanAdd,
    kVlanDel,
    kPvid,
  };
  Kind kind = Kind::kLink;
  std::string group;               // kStatistics, kClearStatistics; empty: all
  std::uint32_t features_on = 0;   // kSetFeatures: bits of lan::Offload
  std::uint32_t features_off = 0;  // likewise; none is in both
  std::uint16_t vlan = 0;          // kVlanAdd, kVlanDel; kPvid, where 0 means none
  friend bool operator==(const NicRequest&, const NicRequest&) = default;
};

// Returns true if the request changes nothing at either end.
bool only_looks(NicRequest::Kind kind);

// `what` is link, driver, address, channels, features, set-features, statistics, clear-statistics,
// reset, vlans, vlan-add, vlan-del or pvid. An error is one sentence that names what is accepted.
base::Result<NicRequest> parse_nic_request(const std::string& what, const std::string& value);

}  // namespace splitnic::control
