#include "lan_bridge/ports/packet_socket.h"

#include <arpa/inet.h>

#include <cerrno>
#include <cstdint>

#include "lan_bridge/frame_ring.h"

namespace splitnic::lan {

base::Result<base::UniqueFd> open_packet_socket() {
  base::UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.valid()) return fd;
  if (errno == EPERM) {
    return base::Error("not permitted: run as root or with CAP_NET_RAW", EPERM);
  }
  return base::Error::from_errno("opening a packet socket", errno);
}

base::Status bind_packet_socket(int fd, unsigned interface_index, int protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
  address.sll_ifindex = static_cast<int>(interface_index);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    return base::Error::from_errno("binding the packet socket", errno);
  }
  return {};
}

base::Result<VnetForm> VnetForm::request(int fd, bool may_be_long) {
  constexpr std::size_t kShortBytes = 10;
  const int bytes = kVnetHeaderBytes;
  if (may_be_long && set_option(fd, SOL_PACKET, PACKET_VNET_HDR_SZ, bytes)) return VnetForm(0);
  const int on = 1;
  if (set_option(fd, SOL_PACKET, PACKET_VNET_HDR, on)) {
    return VnetForm(kVnetHeaderBytes - kShortBytes);
  }
  return base::Error::from_errno("this kernel has no PACKET_VNET_HDR", errno);
}

std::size_t VnetForm::fill(base::Bytes frame, iovec* out) const {
  auto* const at = const_cast<std::byte*>(frame.data());
  if (missing_ == 0) {
    out[0] = {at, frame.size()};
    return 1;
  }
  out[0] = {at, kVnetHeaderBytes - missing_};
  out[1] = {at + kVnetHeaderBytes, frame.size() - kVnetHeaderBytes};
  return 2;
}

std::size_t set_buffer(int fd, int forced, int option, std::size_t bytes) {
  const int half = static_cast<int>(bytes / 2);
  if (!set_option(fd, SOL_SOCKET, forced, half)) set_option(fd, SOL_SOCKET, option, half);
  int got = 0;
  socklen_t length = sizeof got;
  ::getsockopt(fd, SOL_SOCKET, option, &got, &length);
  return static_cast<std::size_t>(got);
}

bool may_set_send_buffer(std::size_t bytes) {
  const base::UniqueFd any(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return any.valid() && set_buffer(any.get(), SO_SNDBUF, SO_SNDBUF, bytes) >= bytes;
}

}  // namespace splitnic::lan
