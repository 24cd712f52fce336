#include "lan_bridge/frame/captured.h"

#include "base/check.h"
#include "base/endian.h"
#include "lan_bridge/frame/checksum.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {
namespace {

// Leaves the checksum of the whole datagram to the receiver.
void make_partial(base::MutableBytes ethernet, const FrameLayout& layout, VnetHeader& header) {
  base::store_be<std::uint16_t>(ethernet.data() + l4_checksum_at(layout),
                                pseudo_header_sum(ethernet, layout, layout.end - layout.l4_offset));
  header.flags = VnetHeader::kNeedsChecksum;
  header.csum_start = static_cast<std::uint16_t>(layout.l4_offset);
  header.csum_offset = layout.l4 == L4::kTcp ? kTcpChecksumOffset : kUdpChecksumOffset;
}

}  // namespace

bool complete_super_frame(base::MutableBytes frame) {
  CHECK(frame.size() >= VnetHeader::kBytes);
  const base::MutableBytes ethernet = frame.subspan(VnetHeader::kBytes);
  VnetHeader header = VnetHeader::parse(frame);
  const auto layout = parse_frame(ethernet);
  if (!layout || layout->l4 != (header.gso() == GsoType::kUdp ? L4::kUdp : L4::kTcp)) return false;
  make_partial(ethernet, *layout, header);
  header.emit(frame);
  return true;
}

bool rebuild_captured(base::MutableBytes frame, std::uint32_t mtu) {
  CHECK(frame.size() >= VnetHeader::kBytes);
  const base::MutableBytes ethernet = frame.subspan(VnetHeader::kBytes);
  VnetHeader header;
  header.emit(frame);
  const auto layout = parse_frame(ethernet);
  if (!layout || (layout->l4 != L4::kTcp && layout->l4 != L4::kUdp)) return true;
  const std::size_t longest = layout->frame_bytes_max(mtu);
  const bool is_too_long = ethernet.size() > longest;
  if (is_too_long && layout->l4 == L4::kTcp && layout->payload_offset < longest &&
      layout->end == ethernet.size()) {
    make_partial(ethernet, *layout, header);
    header.hdr_len = static_cast<std::uint16_t>(layout->payload_offset);
    header.gso_size = static_cast<std::uint16_t>(longest - layout->payload_offset);
    header.gso_type =
        static_cast<std::uint8_t>(layout->l3 == L3::kIp4 ? GsoType::kTcp4 : GsoType::kTcp6);
  } else if (is_partial_checksum(ethernet, *layout)) {
    if (is_too_long) return false;
    make_partial(ethernet, *layout, header);
  }
  header.emit(frame);
  return true;
}

}  // namespace splitnic::lan
