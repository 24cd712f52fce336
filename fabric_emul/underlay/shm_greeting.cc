#include "fabric_emul/underlay/shm_greeting.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace splitnic::fabric {
namespace {

// What the listener sends with the descriptor.
struct Greeting {
  std::array<char, 8> magic{'S', 'N', 'S', 'H', 'M', '0', '0', '1'};
  std::uint64_t ring_bytes = 0;
};

}  // namespace

bool is_ring_length(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= (128U << 10) && bytes <= (64U << 20);
}

bool send_greeting(int socket, int segment, std::size_t ring_bytes) {
  Greeting greeting;
  greeting.ring_bytes = ring_bytes;
  iovec part{&greeting, sizeof(greeting)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &segment, sizeof(int));
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(greeting);
}

Greeted receive_greeting(int socket) {
  Greeted got;
  Greeting greeting;
  iovec part{&greeting, sizeof(greeting)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};  // others do not get in
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  const ssize_t bytes = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    got.what = Greeted::What::kNothingYet;
    return got;
  }
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    if (c->cmsg_len != CMSG_LEN(sizeof(int))) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    got.segment.reset(fd);
  }
  const bool is_whole = bytes == sizeof(greeting) && (message.msg_flags & MSG_TRUNC) == 0;
  if (!is_whole || greeting.magic != Greeting{}.magic || !got.segment.valid()) return got;
  if (!is_ring_length(greeting.ring_bytes)) return got;
  got.ring_bytes = greeting.ring_bytes;
  got.what = Greeted::What::kGood;
  return got;
}

}  // namespace splitnic::fabric
