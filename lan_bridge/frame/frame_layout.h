// The places of the parts of a frame that has a virtio-net header. Pure.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

// `frame` is [virtio-net header][Ethernet frame]; offsets are those of the Ethernet frame, as of
// parse_frame(). Returns nullopt if it does not parse.
inline std::optional<FrameLayout> layout_of(base::Bytes frame) {
  if (frame.size() < VnetHeader::kBytes) return std::nullopt;
  return parse_frame(frame.subspan(VnetHeader::kBytes));
}

}  // namespace splitnic::lan
