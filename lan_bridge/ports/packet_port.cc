#include "lan_bridge/ports/packet_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "lan_bridge/frame/vlan.h"
#include "lan_bridge/ports/packet_socket.h"

namespace splitnic::lan {
namespace {

constexpr std::size_t kShortHeaderBytes = 10;
// The result of receive() for a frame that was received but cannot be used.
constexpr ssize_t kDropped = -2;

void warn_of_cut(const std::string& name, std::string_view what, std::size_t got,
                 std::string_view limit, std::size_t wanted) {
  base::log_warn(fmt::format(
      "{}: the {} buffer is {} bytes only: raise net.core.{} to {}, or grant CAP_NET_ADMIN", name,
      what, got, limit, wanted / 2));
}

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
  auto link = NetlinkLink::open(options.interface);
  if (!link) return link.error();
  // Protocol 0: nothing is captured before everything is set.
  base::UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) {
    if (errno == EPERM) {
      return base::Error(options.interface + ": not permitted: run as root or with CAP_NET_RAW",
                         EPERM);
    }
    return base::Error::from_errno(options.interface + ": opening a packet socket", errno);
  }
  std::unique_ptr<PacketPort> port(new PacketPort(options, std::move(fd), std::move(*link)));
  if (auto status = port->configure(); !status) return status.error().within(options.interface);
  if (auto status = port->begin_with_mtu(options.mtu); !status) return status.error();
  return port;
}

base::Status PacketPort::configure() {
  const int fd = fd_.get();
  const int on = 1;
  const int header = kVnetHeaderBytes;
  has_long_header_ =
      options_.has_long_header && set_option(fd, SOL_PACKET, PACKET_VNET_HDR_SZ, header);
  if (!has_long_header_ && !set_option(fd, SOL_PACKET, PACKET_VNET_HDR, on)) {
    return base::Error::from_errno("this kernel has no PACKET_VNET_HDR: use pcap: instead", errno);
  }
  if (!set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, on)) {
    return base::Error::from_errno("this kernel has no PACKET_IGNORE_OUTGOING (Linux 4.20)", errno);
  }
  if (!set_option(fd, SOL_PACKET, PACKET_AUXDATA, on)) {
    return base::Error::from_errno("requesting VLAN tags", errno);
  }
  set_receive_buffer();
  set_send_buffer(options_.send_buffer_bytes);
  if (auto status = filter_fabric(); !status) return status;
  if (auto status = bind(); !status) return status;
  return set_promiscuous(options_.promiscuous);
}

void PacketPort::set_receive_buffer() {
  const std::size_t got = set_buffer(fd_.get(), SO_RCVBUFFORCE, SO_RCVBUF, options_.buffer_bytes);
  if (got < options_.buffer_bytes)
    warn_of_cut(name_, "receive", got, "rmem_max", options_.buffer_bytes);
}

void PacketPort::set_send_buffer(std::size_t bytes) {
  const std::size_t got = set_buffer(fd_.get(), SO_SNDBUFFORCE, SO_SNDBUF, bytes);
  if (got >= bytes || is_send_cut_logged_) return;
  is_send_cut_logged_ = true;
  warn_of_cut(name_, "send", got, "wmem_max", bytes);
}

void PacketPort::share_output(bool is_shared) {
  set_send_buffer(is_shared ? options_.shared_send_buffer_bytes : options_.send_buffer_bytes);
}

base::Status PacketPort::attach_filter(std::span<sock_filter> program) {
  const sock_fprog code{static_cast<unsigned short>(program.size()), program.data()};
  if (!set_option(fd_.get(), SOL_SOCKET, SO_ATTACH_FILTER, code)) {
    return base::Error::from_errno("attaching the capture filter", errno);
  }
  return {};
}

base::Status PacketPort::bind() {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(link_->index());
  if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    return base::Error::from_errno("binding the packet socket", errno);
  }
  return {};
}

base::Status PacketPort::set_promiscuous(bool on) {
  if (on == is_promiscuous_) return {};
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(link_->index());
  request.mr_type = PACKET_MR_PROMISC;
  const int option = on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP;
  if (!set_option(fd_.get(), SOL_PACKET, option, request)) {
    return base::Error::from_errno("setting promiscuous mode", errno);
  }
  is_promiscuous_ = on;
  return {};
}

// Fills in the vectors of a frame for the kernel, whose header of 10 bytes has no reserved word.
// Returns their number.
std::size_t PacketPort::header_vectors(base::Bytes frame, iovec* out) const {
  auto* const at = const_cast<std::byte*>(frame.data());
  if (has_long_header_) {
    out[0] = {at, frame.size()};
    return 1;
  }
  out[0] = {at, kShortHeaderBytes};
  out[1] = {at + kVnetHeaderBytes, frame.size() - kVnetHeaderBytes};
  return 2;
}

ReadBatch PacketPort::read(FrameRing& ring, std::span<base::Bytes> out) {
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
  iovec vectors[2];
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(tpacket_auxdata))> control;
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = header_vectors(frame, vectors);
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
  const std::size_t missing = has_long_header_ ? 0 : kVnetHeaderBytes - kShortHeaderBytes;
  const std::size_t bytes = static_cast<std::size_t>(n) + missing;
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

std::size_t PacketPort::write(std::span<const base::Bytes> frames) {
  flush();
  std::size_t done = 0;
  while (done < frames.size() && !write_pending()) {
    const base::Bytes frame = frames[done];
    if (frame.size() < kVnetHeaderBytes + kEthernetBytes) {
      counters_.add(PortCounter::kTxDropShort);
      ++done;
    } else if (!can_send_whole(frame)) {
      segment_in_software(frame);
      ++done;
    } else if (const std::size_t sent = send_batch(frames.subspan(done)); sent > 0) {
      done += sent;
    } else if (send_one(frame)) {
      ++done;
    } else {
      break;
    }
  }
  return done;
}

// Sends the first frames that need no software GSO. Returns how many the kernel took.
std::size_t PacketPort::send_batch(std::span<const base::Bytes> frames) {
  std::size_t count = 0;
  iovec* vector = vectors_.data();
  for (; count < std::min(frames.size(), kBatch); ++count) {
    const base::Bytes frame = frames[count];
    if (frame.size() < kVnetHeaderBytes + kEthernetBytes || !can_send_whole(frame)) break;
    msghdr& header = messages_[count].msg_hdr;
    header = {};
    header.msg_iov = vector;
    header.msg_iovlen = header_vectors(frame, vector);
    vector += header.msg_iovlen;
  }
  const int sent =
      ::sendmmsg(fd_.get(), messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
  if (sent <= 0) return 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(sent); ++i) count_sent(frames[i]);
  return static_cast<std::size_t>(sent);
}

bool PacketPort::send_one(base::Bytes frame) {
  iovec vectors[2];
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = header_vectors(frame, vectors);
  for (;;) {
    if (::sendmsg(fd_.get(), &message, MSG_DONTWAIT) >= 0) {
      count_sent(frame);
      return true;
    }
    if (errno == EAGAIN) return false;
    if (errno == EINTR) continue;
    if (errno == EINVAL && VnetHeader::parse(frame).gso() != GsoType::kNone) {
      segment_refused(frame);  // some kernels refuse super-frames that others take
    } else {
      counters_.add(tx_drop_of(errno));
    }
    return true;
  }
}

std::uint64_t PacketPort::kernel_drops() const {
  tpacket_stats stats{};
  socklen_t bytes = sizeof stats;
  // Reading the statistics resets them.
  if (::getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0) {
    kernel_drops_ += stats.tp_drops;
  }
  return kernel_drops_;
}

}  // namespace splitnic::lan
