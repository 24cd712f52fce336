// Internet checksums (RFC 1071): sums over bytes and pseudo-headers, and the completion of
// checksums that the sender left to hardware. In a "partial" checksum the field holds the folded
// pseudo-header sum, not complemented.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"

namespace splitnic::lan {

// Returns the one's complement sum of the bytes as 16-bit big-endian words (an odd last byte is
// padded with 0), folded to 16 bits and not complemented. `seed` is such a sum of preceding bytes.
std::uint16_t sum_bytes(base::Bytes bytes, std::uint32_t seed = 0);
inline std::uint16_t fold(std::uint32_t sum) {
  sum = (sum & 0xFFFFU) + (sum >> 16);
  return static_cast<std::uint16_t>((sum & 0xFFFFU) + (sum >> 16));
}

// Returns the sum of the pseudo-header of an L4 datagram of `l4_bytes`. REQUIRES layout.l4 is TCP
// or UDP.
std::uint16_t pseudo_header_sum(base::Bytes frame, const FrameLayout& layout, std::size_t l4_bytes);
std::size_t l4_checksum_at(const FrameLayout& layout);

// Returns true if the L4 checksum is correct, and for UDP over IPv4 without one. REQUIRES layout.l4
// is TCP or UDP.
bool verify_l4_checksum(base::Bytes frame, const FrameLayout& layout);
// Returns true if the sender left the checksum to hardware: the field holds the pseudo-header sum
// only, which does not verify.
bool is_partial_checksum(base::Bytes frame, const FrameLayout& layout);

void store_ip4_header_checksum(base::MutableBytes frame, const FrameLayout& layout);

// Completes the checksum that the vnet header of `frame` ([vnet header][Ethernet frame]) requests,
// if any, and clears the flag; CRC32C for SCTP. Returns false if the field lies outside the frame.
bool finish_checksum(base::MutableBytes frame);

}  // namespace splitnic::lan
