#include "lan_bridge/ports/tun_device.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "lan_bridge/ports/netlink_link.h"

namespace splitnic::lan {

base::Result<base::UniqueFd> open_tun_file() {
  base::UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd.valid()) return fd;
  if (errno == EACCES || errno == EPERM) {
    return base::Error("/dev/net/tun: not permitted: run as root or with CAP_NET_ADMIN", errno);
  }
  return base::Error::from_errno("/dev/net/tun (is the kernel module tun loaded?)", errno);
}

base::Result<std::unique_ptr<TunDevice>> TunDevice::open(const std::string& name,
                                                         std::uint32_t mtu) {
  CHECK(!name.empty() && name.size() < IFNAMSIZ);
  const auto found = NetlinkLink::find(name);
  if (!found) return found.error();
  auto fd = open_tun_file();
  if (!fd) return fd.error();
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(fd->get(), TUNSETIFF, &request) < 0) {
    return base::Error::from_errno(
        name + ": opening the TUN (as root, and where the name is no other interface's)", errno);
  }
  std::unique_ptr<TunDevice> made(new TunDevice(std::move(*fd)));
  if (found->has_value()) return made;
  const auto link = NetlinkLink::open(name);
  if (!link) return link.error();
  if (auto set = (*link)->set_mtu(mtu); !set) return set.error();
  if (auto up = (*link)->set_up(true); !up) return up.error();
  return made;
}

std::size_t TunDevice::read(base::MutableBytes out) {
  const ssize_t bytes = ::read(fd_.get(), out.data(), out.size());
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

bool TunDevice::write(base::Bytes datagram) {
  return ::write(fd_.get(), datagram.data(), datagram.size()) ==
         static_cast<ssize_t>(datagram.size());
}

}  // namespace splitnic::lan
