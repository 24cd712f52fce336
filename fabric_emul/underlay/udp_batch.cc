// Datapath of the UDP underlay. Out: 1. one datagram: plain sendmsg; 2. more: one sendmsg with
// UDP_SEGMENT; 3. refused by the system: sendmmsg, for good unless only the length was refused.
// In: one recvmsg; UDP_GRO reports the stride.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/log.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_underlay.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kMessagesPerCall = 64;
constexpr std::size_t kSegmentControlBytes = CMSG_SPACE(sizeof(std::uint16_t));
constexpr std::size_t kDscpControlBytes = 2 * CMSG_SPACE(sizeof(int));

iovec io_of(base::Bytes bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // sendmsg does not write to it
}

Underlay::SendStatus status_of(int error) {
  switch (error) {
    case 0:
      return Underlay::SendStatus::kSent;
    case EAGAIN:
      return Underlay::SendStatus::kBlocked;
    case EMSGSIZE:
      return Underlay::SendStatus::kTooLong;
    default:  // ECONNREFUSED, ENETUNREACH, EPERM of a firewall ...: lost as on the path
      return Underlay::SendStatus::kRefused;
  }
}

// Writes the control messages that give a datagram this DSCP; returns their bytes, 0 for DSCP 0. A
// socket of IPv6 sends IPv4 too, and each of the two ignores the message of the other. REQUIRES
// room for kDscpControlBytes, aligned for a cmsghdr, at `out`.
std::size_t put_dscp(std::uint8_t dscp, int family, char* out) {
  if (dscp == 0) return 0;
  const int field = dscp << 2;  // above the two bits of ECN
  std::size_t used = 0;
  const auto put = [&](int level, int type) {
    auto* header = reinterpret_cast<cmsghdr*>(out + used);
    *header = {CMSG_LEN(sizeof field), level, type};
    std::memcpy(CMSG_DATA(header), &field, sizeof field);
    used += CMSG_SPACE(sizeof field);
  };
  put(IPPROTO_IP, IP_TOS);
  if (family == AF_INET6) put(IPPROTO_IPV6, IPV6_TCLASS);
  return used;
}

// The routes refuse a source that is not of this machine (one of the first two, by the version of
// the kernel), or the datagram. EDESTADDRREQ: the last time there was no other source.
bool may_be_without_address(int error) {
  return error == ENETUNREACH || error == EINVAL || error == EDESTADDRREQ;
}

// Not about room, lengths or segmenting.
bool is_about_path(int error) {
  switch (error) {
    case EAGAIN:
    case EINTR:
    case EINVAL:
    case EIO:
    case EMSGSIZE:
      return false;
    default:
      return true;
  }
}

// The errors that the kernel makes of ICMP, of both versions, for a connected UDP socket.
bool may_be_report(int error) {
  switch (error) {
    case ECONNREFUSED:
    case EMSGSIZE:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENONET:
    case EPROTO:
    case EACCES:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A connected socket reports what ICMP brought about an earlier datagram on the next call, which
// does nothing else: retry once then, or whoever forges ICMP would cost a batch with each message
// [H-6]. And retry once from another address if ours is gone.
template <class Call>
auto UdpUnderlay::call_again(Call&& call) {
  auto result = call();
  bool once_more = true;
  bool may_move = true;
  while (result < 0) {
    const int error = errno;
    const bool is_report = once_more && may_be_report(error);
    const bool has_moved =
        !is_report && may_move && may_be_without_address(error) && take_own_address();
    if (is_about_path(error) && !has_moved) last_error_ = error;
    errno = error;
    if (error != EINTR && !is_report && !has_moved) break;
    if (is_report) once_more = false;
    if (has_moved) may_move = false;
    is_too_long_reported_ = is_too_long_reported_ || error == EMSGSIZE;
    result = call();
  }
  return result;
}

Underlay::SendStatus UdpUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                       std::size_t stride) {
  CHECK(stride > 0 && bytes.size() <= batch_bytes_max());
  if (bytes.size() <= stride) {
    int error = 0;
    return send_once(to, bytes, 0, error);
  }
  return segment_ ? send_segmented(to, bytes, stride) : send_each(to, bytes, stride);
}

Underlay::SendStatus UdpUnderlay::send_segmented(const PeerAddress& to, base::Bytes bytes,
                                                 std::size_t stride) {
  int error = 0;
  const SendStatus status = send_once(to, bytes, stride, error);
  if (error != EIO && error != EINVAL) return status;
  // EIO: the interface has no checksum offload; EINVAL: no UDP_SEGMENT here, too many segments, or
  // a stride beyond the path MTU. Only the last is no reason to give up segmenting.
  const SendStatus each = send_each(to, bytes, stride);
  if (each == SendStatus::kSent) {
    segment_ = false;
    base::log_warn("UDP_SEGMENT is refused (" + std::string(std::strerror(error)) +
                   "): sending datagram by datagram from now on");
  }
  return each;
}

Underlay::SendStatus UdpUnderlay::send_once(const PeerAddress& to, base::Bytes bytes,
                                            std::size_t segment, int& error) {
  iovec io = io_of(bytes);
  UdpAddress address(to);
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  alignas(cmsghdr)
      std::array<char, kSegmentControlBytes + UdpLocalTable::kControlBytes + kDscpControlBytes>
          control{};
  std::size_t used = put_dscp(dscp_, family_, control.data());
  if (!is_connected_) {
    used += locals_.put(address.local_index(), family_, control.data() + used);
    address.set_local_index(0);
    message.msg_name = address.get();
    message.msg_namelen = address.bytes();
  }
  if (segment != 0) {
    auto* header = reinterpret_cast<cmsghdr*>(control.data() + used);
    *header = {CMSG_LEN(sizeof(std::uint16_t)), SOL_UDP, UDP_SEGMENT};
    const auto value = static_cast<std::uint16_t>(segment);
    std::memcpy(CMSG_DATA(header), &value, sizeof(value));
    used += kSegmentControlBytes;
  }
  message.msg_control = used == 0 ? nullptr : control.data();
  message.msg_controllen = used;
  const auto sent = call_again([&] { return ::sendmsg(fd_.get(), &message, 0); });
  error = sent < 0 ? errno : 0;
  return status_of(error);
}

Underlay::SendStatus UdpUnderlay::send_each(const PeerAddress& to, base::Bytes bytes,
                                            std::size_t stride) {
  const bool is_resumed = resume_.data == bytes.data() && resume_.size == bytes.size();
  std::size_t at = is_resumed ? resume_.sent : 0;
  resume_ = {};
  UdpAddress address(to);
  alignas(cmsghdr) std::array<char, UdpLocalTable::kControlBytes + kDscpControlBytes> control{};
  std::size_t used = put_dscp(dscp_, family_, control.data());
  if (!is_connected_) {
    used += locals_.put(address.local_index(), family_, control.data() + used);
  }
  address.set_local_index(0);
  std::array<iovec, kMessagesPerCall> io;
  std::array<mmsghdr, kMessagesPerCall> messages{};
  while (at < bytes.size()) {
    unsigned count = 0;
    for (std::size_t from = at; from < bytes.size() && count < kMessagesPerCall; from += stride) {
      io[count] = io_of(bytes.subspan(from, std::min(stride, bytes.size() - from)));
      msghdr& message = messages[count].msg_hdr;
      message.msg_iov = &io[count];
      message.msg_iovlen = 1;
      message.msg_name = is_connected_ ? nullptr : address.get();
      message.msg_namelen = is_connected_ ? 0 : address.bytes();
      message.msg_control = used == 0 ? nullptr : control.data();
      message.msg_controllen = used;
      ++count;
    }
    const int sent = call_again([&] { return ::sendmmsg(fd_.get(), messages.data(), count, 0); });
    if (sent < 0) {
      // The link repeats the same batch: continue after the part that was sent.
      if (errno == EAGAIN && at > 0) resume_ = {bytes.data(), bytes.size(), at};
      return status_of(errno);
    }
    at += static_cast<std::size_t>(sent) * stride;
  }
  return SendStatus::kSent;
}

bool UdpUnderlay::came_in_on_this_cpu() const {
  if (incoming_cpu_) {
    const auto last = incoming_cpu_->last();
    return last && static_cast<int>(*last) == ::sched_getcpu();
  }
  int cpu = -1;
  socklen_t bytes = sizeof(cpu);
  return ::getsockopt(fd_.get(), SOL_SOCKET, SO_INCOMING_CPU, &cpu, &bytes) == 0 && cpu >= 0 &&
         cpu == ::sched_getcpu();
}

std::optional<Underlay::Received> UdpUnderlay::receive() {
  sockaddr_in6 from{};
  iovec io{buffer_.data(), buffer_.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int)) + UdpLocalTable::kControlBytes> control;
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof(from);
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  // An error may report an earlier send; input may wait behind.
  const ssize_t got = call_again([&] { return ::recvmsg(fd_.get(), &message, 0); });
  if (got < 0) return std::nullopt;
  last_error_ = 0;

  const auto bytes = static_cast<std::size_t>(got);
  Received received{{buffer_.data(), bytes}, bytes, {}};
  std::uint32_t local = 0;
  std::uint32_t interface = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_UDP || header->cmsg_type != UDP_GRO) {
      if (local == 0) local = locals_.index_of(*header);
      if (interface == 0) interface = UdpLocalTable::interface_of(*header);
      continue;
    }
    int stride = 0;
    std::memcpy(&stride, CMSG_DATA(header), sizeof(stride));
    if (stride > 0) received.stride = static_cast<std::size_t>(stride);
  }
  if (std::ranges::find(without_interfaces_, interface) != without_interfaces_.end()) {
    ++dropped_of_interfaces_;
    return Received{};
  }
  if (is_connected_) {
    received.from = connected_to_;
  } else {
    UdpAddress peer(*reinterpret_cast<sockaddr*>(&from), message.msg_namelen);
    peer.set_local_index(local);
    received.from = peer.peer();
  }
  return received;
}

}  // namespace splitnic::fabric
