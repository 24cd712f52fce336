#include "lan_bridge/ports/packet_receiver.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lan_bridge/frame/vlan.h"

namespace splitnic::lan {
namespace {

// The result of receive() for a frame that was received but cannot be used.
constexpr ssize_t kDropped = -2;

// The tag that the kernel took out of the frame: TPID and TCI, or 0 and 0 for none.
struct OutOfBandTag {
  std::uint16_t tpid = 0;
  std::uint16_t tci = 0;
};
OutOfBandTag find_tag(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA ||
        c->cmsg_len < CMSG_LEN(sizeof(tpacket_auxdata))) {
      continue;
    }
    tpacket_auxdata aux;
    std::memcpy(&aux, CMSG_DATA(c), sizeof aux);
    if ((aux.tp_status & TP_STATUS_VLAN_VALID) == 0) return {};
    const bool has_tpid = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    return {has_tpid ? aux.tp_vlan_tpid : kEthertypeVlan, aux.tp_vlan_tci};
  }
  return {};
}

}  // namespace

ReadBatch PacketReceiver::read(FrameRing& ring, std::span<base::Bytes> out) {
  ReadSink sink{ring, out};
  if (!splitter_.resume(sink)) return {sink.frames, true};
  for (std::size_t tries = 0; tries < out.size() && !sink.is_full(); ++tries) {
    const base::MutableBytes room = ring.reserve();
    if (room.empty()) break;
    base::MutableBytes frame;
    const ssize_t result = receive(room, frame);
    if (result == kDropped) continue;
    if (result < 0) return {sink.frames, false};
    splitter_.commit_or_split(sink, frame);
    if (!splitter_.resume(sink)) break;
  }
  return {sink.frames, true};
}

// Receives one frame into `room` and puts its tag back. Returns a negative number if no frame
// waits, or kDropped.
ssize_t PacketReceiver::receive(base::MutableBytes room, base::MutableBytes& frame) {
  frame = room.subspan(kVlanTagBytes);  // headroom for the tag
  std::array<iovec, VnetForm::kVectorsMax> vectors;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = form_.fill(frame, vectors.data());
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(fd_, &message, 0);
  if (n < 0) {
    if (errno == EAGAIN) return -1;
    if (errno ==
        EINVAL) {  // a super-frame that the vnet header cannot express: the kernel dropped it
      counters_.add(PortCounter::kRxFrames);
      counters_.add(PortCounter::kRxDropGso);
    }
    return kDropped;  // or ENETDOWN, which the kernel reports once
  }
  const std::size_t bytes = static_cast<std::size_t>(n) + form_.missing();
  frame[10] = frame[11] = std::byte{0};
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    counters_.add(PortCounter::kRxFrames);
    counters_.add(PortCounter::kRxDropTooLong);
    return kDropped;
  }
  frame = frame.first(bytes);
  const OutOfBandTag tag = find_tag(message);
  if (tag.tpid != 0 && bytes >= kVnetHeaderBytes + kEthernetBytes) {
    frame = put_tag_back(frame, tag.tpid, tag.tci);
  }
  return n;
}

}  // namespace splitnic::lan
