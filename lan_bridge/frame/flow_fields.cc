#include "lan_bridge/frame/flow_fields.h"

#include "base/endian.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/frame_layout.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

FlowFields flow_fields_of(base::Bytes frame) {
  FlowFields fields;
  const auto layout = layout_of(frame);
  if (!layout) return fields;
  const base::Bytes ethernet = frame.subspan(VnetHeader::kBytes);
  if (layout->l3 == L3::kIp4) {
    fields.source_address = base::load_be<std::uint32_t>(ethernet.data() + layout->l3_offset + 12);
  }
  if (layout->l4 == L4::kTcp || layout->l4 == L4::kUdp) {
    const std::byte* const ports = ethernet.data() + layout->l4_offset;
    fields.source_port = base::load_be<std::uint16_t>(ports);
    fields.destination_port = base::load_be<std::uint16_t>(ports + 2);
  }
  return fields;
}

}  // namespace splitnic::lan
