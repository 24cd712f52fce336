// The body of a reply to LOAD: how many cells a switch has forwarded out of each of its ports.
// docs/protocol/subnet.md#load
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

inline constexpr std::size_t kSmpLoadPortBytes = 9;

struct SmpLoad {
  struct Port {
    std::uint8_t number = 0;  // ascending
    std::uint64_t cells = 0;  // since the switch started
    friend bool operator==(const Port&, const Port&) = default;
  };
  std::size_t port_count = 0;
  std::array<Port, kSmpPortsMax> ports{};

  std::span<const Port> used_ports() const { return {ports.data(), port_count}; }
  std::size_t bytes() const { return port_count * kSmpLoadPortBytes; }
};
// Writes load.bytes() bytes. REQUIRES room, and at most kSmpPortsMax ports.
std::size_t emit_smp_load(base::MutableBytes out, const SmpLoad& load);
SmpError parse_smp_load(base::Bytes in, SmpLoad& out);  // kBody, or kNone

}  // namespace splitnic::fabric
