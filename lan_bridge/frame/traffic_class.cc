#include "lan_bridge/frame/traffic_class.h"

#include "base/endian.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/frame_layout.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

TrafficClass class_of(base::Bytes frame) {
  TrafficClass found;
  const auto layout = layout_of(frame);
  if (!layout) return found;
  const base::Bytes ethernet = frame.subspan(VnetHeader::kBytes);
  if (layout->tags > 0) found.priority = static_cast<std::uint8_t>(layout->tci >> 13);
  if (layout->l3 == L3::kOther) return found;
  // Version and header length, or version, traffic class and flow label.
  const auto first = base::load_be<std::uint16_t>(ethernet.data() + layout->l3_offset);
  const unsigned traffic_class = layout->l3 == L3::kIp4 ? first & 0xFFU : first >> 4 & 0xFFU;
  found.code_point = static_cast<std::uint8_t>(traffic_class >> 2);
  return found;
}

}  // namespace splitnic::lan
