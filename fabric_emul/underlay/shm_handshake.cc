#include "fabric_emul/underlay/shm_handshake.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/attach_descriptors.h"

namespace splitnic::fabric {
namespace {

// The bytes that go with the descriptor.
struct HandshakeWire {
  std::array<char, 8> magic{'S', 'N', 'S', 'H', 'M', '0', '0', '1'};
  std::uint64_t ring_bytes = 0;
};

}  // namespace

bool is_ring_length(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= (128U << 10) && bytes <= (64U << 20);
}

bool send_shm_handshake(int socket, int segment, std::size_t ring_bytes) {
  HandshakeWire handshake;
  handshake.ring_bytes = ring_bytes;
  iovec part{&handshake, sizeof(handshake)};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  base::attach_descriptors(message, std::span(&segment, 1), room);
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(handshake);
}

ShmHandshake receive_shm_handshake(int socket) {
  ShmHandshake got;
  HandshakeWire handshake;
  iovec part{&handshake, sizeof(handshake)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  // Room for one descriptor. CMSG_SPACE would let a second one in, behind it. [L-1]
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const ssize_t bytes = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    got.status = ShmHandshake::Status::kPending;
    return got;
  }
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    if (c->cmsg_len != CMSG_LEN(sizeof(int))) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    got.segment.reset(fd);
  }
  const bool is_whole = bytes == sizeof(handshake) && (message.msg_flags & MSG_TRUNC) == 0;
  if (!is_whole || handshake.magic != HandshakeWire{}.magic || !got.segment.valid()) return got;
  if (!is_ring_length(handshake.ring_bytes)) return got;
  got.ring_bytes = handshake.ring_bytes;
  got.status = ShmHandshake::Status::kValid;
  return got;
}

}  // namespace splitnic::fabric
