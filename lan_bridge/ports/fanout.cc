#include "lan_bridge/ports/fanout.h"

#include <array>
#include <cerrno>

#include "lan_bridge/ports/flow_program.h"
#include "lan_bridge/ports/packet_socket.h"

#ifndef PACKET_FANOUT_FLAG_UNIQUEID
#define PACKET_FANOUT_FLAG_UNIQUEID 0x2000  // Linux 4.12
#endif
#ifndef PACKET_FANOUT_FLAG_IGNORE_OUTGOING
#define PACKET_FANOUT_FLAG_IGNORE_OUTGOING 0x4000  // older kernels do not look at it
#endif

namespace splitnic::lan {

std::vector<sock_filter> accept_nothing() { return {{BPF_RET | BPF_K, 0, 0, 0}}; }

void exclude_outgoing(std::vector<sock_filter>& filter) {
  const std::array<sock_filter, 3> check{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kFromAncillary + SKF_AD_PKTTYPE},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PACKET_OUTGOING},
      {BPF_RET | BPF_K, 0, 0, 0},
  }};
  filter.insert(filter.begin(), check.begin(), check.end());
}

base::Status FanoutGroup::join(int fd) {
  if (!joining_) return create(fd);
  if (set_option(fd, SOL_PACKET, PACKET_FANOUT, *joining_)) return {};
  return base::Error::from_errno("joining the fanout group", errno);
}

base::Status FanoutGroup::create(int fd) {
  constexpr int kFlags = PACKET_FANOUT_FLAG_UNIQUEID | PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
  const auto create_with = [fd](int mode) {
    return set_option(fd, SOL_PACKET, PACKET_FANOUT, (mode | kFlags) << 16);
  };
  has_program_ = has_program_ && create_with(PACKET_FANOUT_CBPF);
  if (!has_program_ && !create_with(PACKET_FANOUT_HASH)) {
    return base::Error::from_errno("creating a fanout group", errno);
  }
  if (has_program_) {
    auto code = flow_program();
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    if (!set_option(fd, SOL_PACKET, PACKET_FANOUT_DATA, program)) {
      return base::Error::from_errno("setting the program of a fanout group", errno);
    }
  }
  int joining = 0;  // with the number of the group, and without PACKET_FANOUT_FLAG_UNIQUEID
  socklen_t bytes = sizeof joining;
  if (::getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &joining, &bytes) < 0) {
    return base::Error::from_errno("reading the number of a fanout group", errno);
  }
  joining_ = joining;
  return {};
}

}  // namespace splitnic::lan
