#include "lan_bridge/ports/packet_port.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lan_bridge/frame/vlan.h"
#include "lan_bridge/ports/packet_socket.h"

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

base::Result<std::unique_ptr<PacketPort>> PacketPort::open(const PacketOptions& options) {
  return open_as(options, QueueRole::kOwner);
}

base::Result<std::vector<std::unique_ptr<FramePort>>> PacketPort::open_queues(
    const PacketOptions& options, std::uint32_t queues) {
  return open_group(queues, [&](QueueRole role) { return open_as(options, role); });
}

base::Result<std::vector<std::unique_ptr<FramePort>>> PacketPort::expect_queues(
    const PacketOptions& options, std::uint32_t queues) {
  std::vector<std::unique_ptr<FramePort>> out;
  while (out.size() < queues) {
    auto port = expect_as(options, out.empty() ? QueueRole::kOwner : QueueRole::kObserver);
    if (!port) return port.error();
    (*port)->expect(queues > 1, {.promiscuous = options.promiscuous});
    out.push_back(*std::move(port));
  }
  return out;
}

base::Result<std::unique_ptr<PacketPort>> PacketPort::expect_as(const PacketOptions& options,
                                                                QueueRole role) {
  auto link = NetlinkLink::expect(options.interface);
  if (!link) return link.error();
  base::UniqueFd placeholder(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!placeholder.valid()) return base::Error::from_errno(options.interface, errno);
  return std::unique_ptr<PacketPort>(
      new PacketPort(options, std::move(placeholder), std::move(*link), role));
}

base::Result<std::unique_ptr<PacketPort>> PacketPort::open_as(const PacketOptions& options,
                                                              QueueRole role) {
  auto link = NetlinkLink::open(options.interface);
  if (!link) return link.error();
  auto fd = open_packet_socket();
  if (!fd) return fd.error().within(options.interface);
  std::unique_ptr<PacketPort> port(new PacketPort(options, std::move(*fd), std::move(*link), role));
  if (auto status = port->configure(); !status) return status.error().within(options.interface);
  if (role == QueueRole::kObserver) return port;
  if (auto status = port->begin_with_mtu(options.mtu); !status) return status.error();
  return port;
}

base::Status PacketPort::configure() {
  const int fd = fd_.get();
  const int on = 1;
  if (auto status = request_header(); !status) return status;
  if (!set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, on)) {
    return base::Error::from_errno("this kernel has no PACKET_IGNORE_OUTGOING (Linux 4.20)", errno);
  }
  if (!set_option(fd, SOL_PACKET, PACKET_AUXDATA, on)) {
    return base::Error::from_errno("requesting VLAN tags", errno);
  }
  set_receive_buffer();
  share_output(false);
  auto filtered = observes() ? attach_filter(accept_nothing()) : filter_fabric();
  if (!filtered) return filtered;
  if (auto status = bind_packet_socket(fd, link_->index(), ETH_P_ALL); !status) return status;
  return set_receive_filter({.promiscuous = options_.promiscuous});
}

base::Status PacketPort::request_header() {
  const auto form = VnetForm::request(fd_.get(), options_.has_long_header);
  if (!form) return base::Error(form.error().text() + ": use pcap: instead");
  form_ = *form;
  sender_.emplace(fd_.get(), *form, counters_);
  return {};
}

// The process that has opened the socket has set everything that takes privileges.
base::Status PacketPort::return_by(base::UniqueFd socket) {
  sockaddr_ll bound{};
  socklen_t bytes = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &bytes) < 0 ||
      bound.sll_family != AF_PACKET) {
    return base::Error::from_errno(name_ + ": what came is no packet socket", errno);
  }
  if (auto back = link_->return_as(static_cast<unsigned>(bound.sll_ifindex)); !back) return back;
  if (::dup3(socket.get(), fd_.get(), O_CLOEXEC) < 0) {
    return base::Error::from_errno(name_ + ": replacing its socket", errno);
  }
  if (auto status = request_header(); !status) return status;
  return continue_with_socket({.promiscuous = options_.promiscuous});
}

void PacketPort::set_receive_buffer() {
  const std::size_t got = set_buffer(fd_.get(), SO_RCVBUFFORCE, SO_RCVBUF, options_.buffer_bytes);
  if (got < options_.buffer_bytes) warn_of_cut("receive", got, "rmem_max", options_.buffer_bytes);
}

base::Status PacketPort::attach_filter(std::vector<sock_filter> program) {
  if (is_in_group()) exclude_outgoing(program);
  const sock_fprog code{static_cast<unsigned short>(program.size()), program.data()};
  if (!set_option(fd_.get(), SOL_SOCKET, SO_ATTACH_FILTER, code)) {
    return base::Error::from_errno("attaching the capture filter", errno);
  }
  return {};
}

std::size_t PacketPort::write(std::span<const base::Bytes> frames) {
  if (has_begun()) return CapturePort::write(frames);
  counters_.add(PortCounter::kTxDropDown, frames.size());
  return frames.size();
}

ReadBatch PacketPort::read(FrameRing& ring, std::span<base::Bytes> out) {
  if (!has_begun()) return {};
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
ssize_t PacketPort::receive(base::MutableBytes room, base::MutableBytes& frame) {
  frame = room.subspan(kVlanTagBytes);  // headroom for the tag
  std::array<iovec, VnetForm::kVectorsMax> vectors;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = form_.fill(frame, vectors.data());
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(fd_.get(), &message, 0);
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
