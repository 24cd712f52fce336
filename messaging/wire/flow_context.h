// Pool contexts that select flows: source port, destination port and source IPv4 address, each 0
// for every value. Pure. docs/protocol/channels.md#pool-contexts [S001-52]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace splitnic::messaging {

// Different contexts of one peer's pools: a writer searches them in order.
inline constexpr std::size_t kFlowContextsMax = 16;

inline constexpr std::array<std::uint64_t, 3> kFlowContextFields = {
    0xFFFF'0000'0000'0000ULL, 0x0000'FFFF'0000'0000ULL, 0x0000'0000'FFFF'FFFFULL};

constexpr std::uint64_t flow_context(std::uint16_t source_port, std::uint16_t destination_port,
                                     std::uint32_t source_address) {
  return std::uint64_t{source_port} << 48 | std::uint64_t{destination_port} << 32 | source_address;
}

// Returns true if each field that is not 0 in the pool's context is the same in that of the frame.
constexpr bool selects(std::uint64_t pool_context, std::uint64_t frame_context) {
  for (const std::uint64_t field : kFlowContextFields) {
    const std::uint64_t wanted = pool_context & field;
    if (wanted != 0 && wanted != (frame_context & field)) return false;
  }
  return true;
}

// Returns the number of fields that the context names.
constexpr unsigned fields_selected(std::uint64_t pool_context) {
  unsigned count = 0;
  for (const std::uint64_t field : kFlowContextFields) count += (pool_context & field) != 0 ? 1 : 0;
  return count;
}

}  // namespace splitnic::messaging
