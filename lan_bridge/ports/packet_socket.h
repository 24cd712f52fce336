// Options of a packet socket, for the ports that have one.
#pragma once

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cstddef>

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
#ifndef PACKET_VNET_HDR_SZ
#define PACKET_VNET_HDR_SZ 24
#endif

namespace splitnic::lan {

// Returns false with errno set if the kernel refuses the option.
template <typename T>
bool set_option(int fd, int level, int option, const T& value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// Sets the size of a socket buffer with `forced` (SO_RCVBUFFORCE or SO_SNDBUFFORCE) or, without
// CAP_NET_ADMIN, with `option` up to the limit of the system. `bytes` and the result are what the
// kernel accounts, which is twice the value of the option.
inline std::size_t set_buffer(int fd, int forced, int option, std::size_t bytes) {
  const int half = static_cast<int>(bytes / 2);
  if (!set_option(fd, SOL_SOCKET, forced, half)) set_option(fd, SOL_SOCKET, option, half);
  int got = 0;
  socklen_t length = sizeof got;
  ::getsockopt(fd, SOL_SOCKET, option, &got, &length);
  return static_cast<std::size_t>(got);
}

}  // namespace splitnic::lan
