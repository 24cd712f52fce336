// A TAP by its descriptor: one that the program was started with, which somebody else made or an
// earlier process of the service; and one that was moved to another network namespace.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <optional>

#include "base/log.h"
#include "lan_bridge/ports/tap_offload.h"
#include "lan_bridge/ports/tap_port.h"

namespace splitnic::lan {
namespace {

struct TapName {
  std::string name;
  short flags = 0;
};

std::optional<TapName> name_of(int fd) {
  ifreq request{};
  if (::ioctl(fd, TUNGETIFF, &request) < 0) return std::nullopt;
  return TapName{request.ifr_name, request.ifr_flags};
}

}  // namespace

base::Result<std::vector<std::unique_ptr<TapPort>>> TapPort::open_passed(const TapOptions& options,
                                                                         std::uint32_t queues) {
  const std::string what = "descriptor " + std::to_string(options.fd);
  const auto tap = name_of(options.fd);
  constexpr short kNeeded = IFF_TAP | IFF_VNET_HDR;
  if (!tap || (tap->flags & kNeeded) != kNeeded) {
    return base::Error(what +
                           " is not a TAP with a virtio-net header: pass one that was opened "
                           "with IFF_TAP | IFF_NO_PI | IFF_VNET_HDR",
                       EINVAL);
  }
  base::UniqueFd fd(options.fd);
  if (tap->name != options.name) {
    return base::Error(what + " is the TAP " + tap->name + ": give --tap " + tap->name, EINVAL);
  }
  if (::fcntl(fd.get(), F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
      ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) < 0) {
    return base::Error::from_errno(what, errno);
  }
  if (auto set = set_tap_header(fd.get()); !set) return set.error().within(what);
  auto link = NetlinkLink::expect(options.name);
  if (!link) return link.error();
  std::vector<std::unique_ptr<TapPort>> out;
  out.emplace_back(new TapPort(options, std::move(fd), std::move(*link), true, QueueRole::kOwner));
  TapPort& port = *out.front();
  port.find_again();
  if (port.is_gone()) return base::Error(what + ": the TAP cannot be followed");
  if (options.is_stored) port.carrier_wanted_ = port.link_->last_state().link_up;
  if (auto status = port.configure(options); !status) return status.error();
  open_others(out, options, queues, (tap->flags & IFF_MULTI_QUEUE) != 0);
  return out;
}

// The descriptor leads to the TAP wherever it was moved.
void TapPort::find_again() {
  const auto tap = name_of(fd_.get());
  if (!tap) return;  // it was deleted
  const base::UniqueFd where(::ioctl(fd_.get(), TUNGETDEVNETNS));
  if (!where.valid()) return;
  if (auto followed = link_->follow(where, tap->name); !followed) {
    base::log_warn(followed.error().text());
    return;
  }
  if (!keep_) (void)set_persistent();
  if (link_->is_elsewhere() && !observes()) {
    base::log_info(name_ + " is followed to another network namespace");
  }
}

}  // namespace splitnic::lan
