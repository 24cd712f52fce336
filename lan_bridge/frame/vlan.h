// Puts a VLAN tag that the kernel took out of band (PACKET_AUXDATA) back into the frame without
// moving the payload: the vnet header and the two MACs move 4 bytes down into headroom.
#pragma once

#include <cstring>

#include "base/bytes.h"
#include "base/endian.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

// `frame` is [vnet header][Ethernet frame]; the kVlanTagBytes bytes before it are writable.
// Returns the frame with the tag, which begins there. REQUIRES frame.size() >= VnetHeader::kBytes +
// kEthernetBytes.
inline base::MutableBytes put_tag_back(base::MutableBytes frame, std::uint16_t tpid,
                                       std::uint16_t tci) {
  std::byte* const to = frame.data() - kVlanTagBytes;
  VnetHeader header = VnetHeader::parse(frame);
  constexpr auto kShift = static_cast<std::uint16_t>(kVlanTagBytes);
  if (header.needs_checksum())
    header.csum_start = static_cast<std::uint16_t>(header.csum_start + kShift);
  if (header.hdr_len != 0) header.hdr_len = static_cast<std::uint16_t>(header.hdr_len + kShift);
  std::memmove(to, frame.data(), VnetHeader::kBytes + kEthertypeOffset);
  const base::MutableBytes tagged(to, frame.size() + kVlanTagBytes);
  header.emit(tagged);
  std::byte* const tag = to + VnetHeader::kBytes + kEthertypeOffset;
  base::store_be<std::uint16_t>(tag, tpid);
  base::store_be<std::uint16_t>(tag + 2, tci);
  return tagged;
}

}  // namespace splitnic::lan
