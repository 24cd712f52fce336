// Packet sockets and their options, for the ports that have one.
#pragma once

#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
#ifndef PACKET_VNET_HDR_SZ
#define PACKET_VNET_HDR_SZ 24
#endif

namespace splitnic::lan {

// Opens a socket that does not block and captures nothing until it is bound to a protocol.
base::Result<base::UniqueFd> open_packet_socket();
// Frames go to this interface; those of `protocol` (ETH_P_*, 0: none) are captured there.
base::Status bind_packet_socket(int fd, unsigned interface_index, int protocol);

// The vnet header as a kernel has it: 12 bytes, or 10 without the last word in older ones.
class VnetForm {
 public:
  static constexpr std::size_t kVectorsMax = 2;  // of one frame

  VnetForm() = default;  // that of 12 bytes
  // From now on every frame of the socket has the vnet header. Returns an error if the kernel has
  // none. `may_be_long` false: that of 10 bytes.
  static base::Result<VnetForm> request(int fd, bool may_be_long = true);

  // Fills in the vectors of a frame with a header of 12 bytes, for the kernel to read or write.
  // Returns their number.
  std::size_t fill(base::Bytes frame, iovec* out) const;
  // Bytes of the header that the kernel leaves out.
  std::size_t missing() const { return missing_; }

 private:
  explicit VnetForm(std::size_t missing) : missing_(missing) {}
  std::size_t missing_ = 0;
};

// Returns false with errno set if the kernel refuses the option.
template <typename T>
bool set_option(int fd, int level, int option, const T& value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// Sets the size of a socket buffer with `forced` (SO_RCVBUFFORCE or SO_SNDBUFFORCE) or, without
// CAP_NET_ADMIN, with `option` up to the limit of the system. `bytes` and the result are what the
// kernel accounts, which is twice the value of the option.
std::size_t set_buffer(int fd, int forced, int option, std::size_t bytes);
// Whether a socket gets a send buffer of these bytes without CAP_NET_ADMIN (net.core.wmem_max).
bool may_set_send_buffer(std::size_t bytes);

}  // namespace splitnic::lan
