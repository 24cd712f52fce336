// One change of a NIC as a user types it, `splitnic set WHAT VALUE` (docs/CLI.md). Parsing only:
// the command checks with it before it asks the program, and the host module checks what arrives.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::control {

struct Setting {
  enum class Kind : std::uint8_t { kMac, kMtu, kFilter, kLink };
  Kind kind = Kind::kMac;
  lan::MacAddress mac{};        // kMac: an address that one NIC can have
  std::uint32_t mtu = 0;        // kMtu: bytes, lan::kMtuMin to lan::kTapMtuMax
  bool is_promiscuous = false;  // kFilter
  bool is_up = false;           // kLink
  friend bool operator==(const Setting&, const Setting&) = default;
};

// The `what` of `splitnic move UNIT`, whose value only the host can check.
inline constexpr const char* kMoveSetting = "unit";

// `what` is mac, mtu, filter (promisc or normal) or link (up or down). An error is one sentence
// that names what is accepted.
base::Result<Setting> parse_setting(const std::string& what, const std::string& value);

}  // namespace splitnic::control
