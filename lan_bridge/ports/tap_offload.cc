#include "lan_bridge/ports/tap_offload.h"

#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "lan_bridge/frame/offload.h"
#include "lan_bridge/frame/vnet_header.h"

#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

namespace splitnic::lan {
namespace {

unsigned long tun_flags(std::uint32_t mask) {
  mask = offloads_in_force(mask);
  unsigned long flags = 0;
  if ((mask & kOffloadChecksum) != 0) flags |= TUN_F_CSUM;
  if ((mask & kOffloadTso4) != 0) flags |= TUN_F_TSO4;
  if ((mask & kOffloadTso6) != 0) flags |= TUN_F_TSO6;
  if ((mask & kOffloadUso) != 0) flags |= TUN_F_USO4 | TUN_F_USO6;
  return flags;
}

}  // namespace

base::Status set_tap_header(int tap_fd) {
  int header = kVnetHeaderBytes;
  int little_endian = 1;
  if (::ioctl(tap_fd, TUNSETVNETHDRSZ, &header) < 0 ||
      ::ioctl(tap_fd, TUNSETVNETLE, &little_endian) < 0) {
    return base::Error::from_errno("setting the TAP's frame header", errno);
  }
  return {};
}

std::uint32_t probe_tap_offloads(int tap_fd) {
  constexpr std::uint32_t kTcp = kOffloadChecksum | kOffloadTso4 | kOffloadTso6;
  if (set_tap_offloads(tap_fd, kTcp | kOffloadUso)) return kTcp | kOffloadUso;
  return set_tap_offloads(tap_fd, kTcp) ? kTcp : 0U;
}

std::string missing_tap_offloads(std::uint32_t wanted, std::uint32_t known) {
  const std::uint32_t missing = wanted & ~known;
  if ((missing & kOffloadTso4) != 0) {
    return "this kernel's TAPs take no offloads: the stack segments and checksums in software";
  }
  if ((missing & kOffloadUso) != 0) {
    return "this kernel's TAPs take no UDP super-frames (USO, since Linux 6.2): each datagram "
           "is sent separately";
  }
  return {};
}

base::Status set_tap_offloads(int tap_fd, std::uint32_t mask) {
  if (::ioctl(tap_fd, TUNSETOFFLOAD, tun_flags(mask)) < 0) {
    return base::Error::from_errno("setting the offloads of the TAP", errno);
  }
  return {};
}

}  // namespace splitnic::lan
