#include "lan_bridge/ports/tap_port.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "lan_bridge/ports/steering.h"
#include "lan_bridge/ports/tap_offload.h"
#include "lan_bridge/ports/tun_device.h"

#ifndef IFF_NO_CARRIER
#define IFF_NO_CARRIER 0x0040  // Linux 6.2; older kernels ignore it
#endif

namespace splitnic::lan {
namespace {

constexpr int kWaitingMax = 10'000;  // more than the kernel keeps for a queue

base::Error held_by_another(const std::string& name) {
  return base::Error(name + ": the TAP is held by another program: stop it first", EBUSY);
}

base::Error explain_attach(const std::string& name, int error, bool exists) {
  switch (error) {
    case EBUSY:
      return held_by_another(name);
    case EPERM:
      return base::Error(name + ": not permitted: run as root or with CAP_NET_ADMIN", error);
    case EINVAL:
      if (exists)
        return base::Error(name +
                               ": the interface exists and is not a TAP with a virtio-net header: "
                               "choose another name or remove it",
                           error);
      break;
    default:
      break;
  }
  return base::Error::from_errno(name + ": creating the TAP", error);
}

base::Status check_name(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ || name == "." || name == ".." ||
      name.find_first_of("/ %:\t\n") != std::string::npos) {
    return base::Error(
        "\"" + name + "\" is not an interface name: 1 to 15 characters, no / % : or space", EINVAL);
  }
  return {};
}

// Attaches to the TAP in one of the two forms, and creates it if there is none.
base::Result<base::UniqueFd> attach_as(const TapOptions& options, bool exists,
                                       bool has_several_queues) {
  auto opened = open_tun_file();
  if (!opened) return opened.error();
  base::UniqueFd fd = *std::move(opened);
  ifreq request{};
  std::strncpy(request.ifr_name, options.name.c_str(), IFNAMSIZ - 1);
  const int no_carrier = options.has_carrier ? 0 : IFF_NO_CARRIER;
  const int several = has_several_queues ? IFF_MULTI_QUEUE : 0;
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | no_carrier | several);
  if (::ioctl(fd.get(), TUNSETIFF, &request) < 0)
    return explain_attach(options.name, errno, exists);
  if (auto set = set_tap_header(fd.get()); !set) return set.error().within(options.name);
  return fd;
}

struct Attachment {
  base::UniqueFd fd;
  bool has_several_queues = false;
};

// A TAP that a killed program left has the form in which that program created it, and the kernel
// refuses the other one.
base::Result<Attachment> attach(const TapOptions& options, bool exists, bool wants_several) {
  bool is_several = wants_several;
  auto fd = attach_as(options, exists, is_several);
  if (!fd && fd.error().errno_value() == EINVAL) {
    is_several = !is_several;
    fd = attach_as(options, exists, is_several);
  }
  if (!fd) return fd.error();
  return Attachment{std::move(*fd), is_several};
}

void warn_of_fewer(const std::string& name, std::size_t got, std::uint32_t wanted,
                   const std::string& cause) {
  base::log_warn(fmt::format("{}: {} of {} queues are in use: {}", name, got, wanted, cause));
}

}  // namespace

base::Result<std::unique_ptr<TapPort>> TapPort::open(const TapOptions& options) {
  auto queues = open_queues(options, 1);
  if (!queues) return queues.error();
  return std::move(queues->front());
}

base::Result<std::vector<std::unique_ptr<TapPort>>> TapPort::open_queues(const TapOptions& options,
                                                                         std::uint32_t queues) {
  if (options.fd >= 0) return open_passed(options, queues);
  if (auto status = check_name(options.name); !status) return status.error();
  auto found = NetlinkLink::find(options.name);
  if (!found) return found.error();
  const bool exists = found->has_value();
  if (options.adopts && !exists) {
    return base::Error(options.name + ": no such interface: ip tuntap add dev " + options.name +
                           " mode tap vnet_hdr",
                       ENODEV);
  }
  if (exists && !options.adopts && (options.alias.empty() || (*found)->alias != options.alias)) {
    return base::Error(options.name + ": the interface exists and is not ours (its alias is \"" +
                           (*found)->alias + "\"): choose another name or remove it",
                       EEXIST);
  }
  // A TAP with several queues can be attached to by any number of programs.
  if (exists && (*found)->tap_queues > 0) return held_by_another(options.name);
  auto attached = attach(options, exists, queues > 1);
  if (!attached) return attached.error();
  auto link = NetlinkLink::open(options.name);
  if (!link) return link.error();
  if ((*link)->tap_queues() > 1) return held_by_another(options.name);  // since it was found
  std::vector<std::unique_ptr<TapPort>> out;
  out.emplace_back(
      new TapPort(options, std::move(attached->fd), std::move(*link), exists, QueueRole::kOwner));
  if (auto status = out.front()->configure(options); !status) {
    out.front()->keep_ = exists;  // a TAP that existed before stays, a new one is removed
    return status.error();
  }
  open_others(out, options, queues, attached->has_several_queues);
  return out;
}

// Adds queues to the one that is there. REQUIRES queue 0 in `ports`.
void TapPort::open_others(std::vector<std::unique_ptr<TapPort>>& ports, const TapOptions& options,
                          std::uint32_t queues, bool has_several_queues) {
  TapPort& owner = *ports.front();
  if (queues > 1 && !has_several_queues) {
    warn_of_fewer(options.name, 1, queues,
                  "the TAP was created with one: remove it (ip link del " + options.name +
                      ") and start again");
    return;
  }
  if (queues > 1 && owner.link_->is_elsewhere()) {
    warn_of_fewer(options.name, 1, queues, "the TAP is in another network namespace");
    return;
  }
  if (auto steered = queues > 1 ? steer_by_flow(owner.fd()) : base::Status(); !steered) {
    warn_of_fewer(options.name, 1, queues,
                  steered.error().text() + ": run as root or with CAP_BPF");
    return;
  }
  while (ports.size() < queues) {
    auto next = open_next(options, owner);
    if (!next) {
      warn_of_fewer(options.name, ports.size(), queues,
                    next.error().text() + ": request fewer queues");
      return;
    }
    ports.push_back(std::move(*next));
  }
}

base::Result<std::unique_ptr<TapPort>> TapPort::open_next(const TapOptions& options,
                                                          const TapPort& owner) {
  auto fd = attach_as(options, true, true);
  if (!fd) return fd.error();
  auto link = NetlinkLink::open(options.name);
  if (!link) return link.error();
  std::unique_ptr<TapPort> port(new TapPort(options, std::move(*fd), std::move(*link),
                                            owner.is_adopted_, QueueRole::kObserver));
  if (auto status = port->attach_queue(false); !status) return status.error();
  port->offloads_supported_ = owner.offloads_supported_;
  if (auto status = port->set_offloads(kOffloadsAll); !status) return status.error();
  return port;
}

TapPort::TapPort(const TapOptions& options, base::UniqueFd fd, std::unique_ptr<NetlinkLink> link,
                 bool is_adopted, QueueRole role)
    : LinkPort("tap:" + options.name, std::move(link), role),
      fd_(std::move(fd)),
      keep_(options.keep || options.adopts || observes()),
      is_adopted_(is_adopted),
      adopts_(options.adopts),
      is_stored_(options.is_stored),
      is_elsewhere_(options.is_elsewhere),
      carrier_wanted_(options.has_carrier) {
  link_->listen_everywhere();
  if (is_adopted && !observes()) kernel_drops_before_ = link_->tx_dropped();
}

base::Status TapPort::configure(const TapOptions& options) {
  const std::uint32_t known = probe_tap_offloads(fd_.get());
  if (const auto missing = missing_tap_offloads(options.offloads, known); !missing.empty()) {
    base::log_warn(options.name + ": " + missing);
  }
  offloads_supported_ = (known & options.offloads) | kOffloadsAlways;
  if (auto status = set_offloads(kOffloadsAll); !status) return status;
  // The alias first: from then on a crash leaves either nothing or a TAP with this alias.
  if (!is_adopted_ && !options.alias.empty()) {
    if (auto status = unless_moved(link_->set_alias(options.alias)); !status) return status;
  }
  if (auto status = adopts_ ? base::Status() : set_persistent(); !status) return status;
  const bool keeps_mac = is_adopted_ && options.keeps_adopted_mac;
  if (options.mac && !keeps_mac && *options.mac != link_->state().mac) {
    if (auto status = unless_moved(link_->set_mac(*options.mac)); !status) return status;
  }
  if (auto status = unless_moved(begin_with_mtu(options.mtu)); !status) return status;
  return unless_moved(set_gso_max(options));
}

// A descriptor that was stored may be of an interface that somebody has moved to another namespace:
// it serves on with the settings that it has.
base::Status TapPort::unless_moved(base::Status status) const {
  if (status || !is_stored_ || status.error().errno_value() != EXDEV) return status;
  base::log_debug(status.error().text());
  return {};
}

// If the next start finds the TAP by another way, or not at all, it goes with its descriptors.
base::Status TapPort::set_persistent() {
  const bool goes = !keep_ && (is_stored_ || link_->is_elsewhere());
  if (::ioctl(fd_.get(), TUNSETPERSIST, goes ? 0UL : 1UL) == 0) return {};
  return base::Error::from_errno(name_ + ": making the TAP persistent", errno);
}

// Without it the port splits the super-frames that are too long.
base::Status TapPort::set_gso_max(const TapOptions& options) {
  if (options.gso_max == 0) return {};
  auto status = link_->set_gso_max(options.gso_max);
  if (status || !adopts_) return status;
  base::log_info(status.error().text() + ": the longest super-frames are split");
  return {};
}

TapPort::~TapPort() {
  if (!keep_) ::ioctl(fd_.get(), TUNSETPERSIST, 0UL);
}

base::Status TapPort::attach_queue(bool is_attached) {
  if (!observes() || is_attached == is_attached_) return {};
  if (!is_attached) drop_waiting();
  ifreq request{};
  request.ifr_flags = is_attached ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE;
  if (::ioctl(fd_.get(), TUNSETQUEUE, &request) < 0) {
    return base::Error::from_errno(
        name_ + (is_attached ? ": attaching a queue" : ": detaching a queue"), errno);
  }
  is_attached_ = is_attached;
  return {};
}

// The kernel drops what waits in a queue that is detached, and does not count it.
void TapPort::drop_waiting() {
  std::array<std::byte, kVnetHeaderBytes> start;
  for (int tries = 0; tries < kWaitingMax; ++tries) {
    const ssize_t n = ::read(fd_.get(), start.data(), start.size());
    if (n >= 0) {
      counters_.add(PortCounter::kRxFrames);
      counters_.add(PortCounter::kRxDropDetached);
    } else if (errno != EINTR) {
      return;
    }
  }
}

ReadBatch TapPort::read(FrameRing& ring, std::span<base::Bytes> out) {
  ReadSink sink{ring, out};
  if (!splitter_.resume(sink)) return {sink.frames, true};
  for (std::size_t tries = 0; tries < out.size() && !sink.is_full(); ++tries) {
    const base::MutableBytes room = ring.reserve();
    if (room.empty()) break;
    const ssize_t n = ::read(fd_.get(), room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {sink.frames, false};  // nothing waits, or the TAP was deleted
    const auto bytes = static_cast<std::size_t>(n);
    if (bytes >= kVnetHeaderBytes)
      room[10] = room[11] = std::byte{0};  // the kernel skips these two
    splitter_.commit_or_split(sink, room.first(bytes));
    if (!splitter_.resume(sink)) break;
  }
  return {sink.frames, true};
}

bool TapPort::send_one(base::Bytes frame) {
  for (;;) {
    if (::write(fd_.get(), frame.data(), frame.size()) >= 0) {
      count_sent(frame);
      return true;
    }
    if (errno == EAGAIN) return false;
    if (errno == EINTR) continue;
    if (errno == EINVAL && VnetHeader::parse(frame).gso() != GsoType::kNone) {
      // Some kernels refuse super-frames that others take (USO with a short tail).
      segment_refused(frame);
    } else {
      counters_.add(tx_drop_of(errno));
    }
    return true;
  }
}

PortState TapPort::state() {
  PortState now = link_->state();
  if (link_->is_gone()) {
    find_again();
    now = link_->last_state();
  }
  if (observes()) return now;
  // The carrier could not be set while the TAP was down.
  if (now.admin_up && now.link_up != carrier_wanted_ && set_carrier(carrier_wanted_)) {
    return link_->state();
  }
  return now;
}

std::optional<AddressLists> TapPort::address_lists() {
  if (link_->is_gone() || link_->is_elsewhere()) return AddressLists();
  return link_->address_lists();
}

base::Status TapPort::set_promiscuous(bool on) {
  return observes() ? base::Status() : link_->set_promiscuous(on);
}

base::Status TapPort::set_carrier(bool up) {
  if (observes()) return {};
  carrier_wanted_ = up;
  int value = up ? 1 : 0;
  const int error = ::ioctl(fd_.get(), TUNSETCARRIER, &value) == 0 ? 0 : errno;
  bool is_up = link_->refresh().admin_up;
  if (link_->is_gone()) {
    find_again();
    is_up = link_->last_state().admin_up;
  }
  if (error == 0 || !is_up) return {};
  return base::Error::from_errno(name_ + ": setting the carrier", error);
}

base::Status TapPort::set_offloads(std::uint32_t mask) {
  if (observes()) return LinkPort::set_offloads(mask);
  if (auto status = set_tap_offloads(fd_.get(), mask & offloads_supported_); !status) {
    return status.error().within(name_);
  }
  return LinkPort::set_offloads(mask);
}

std::uint64_t TapPort::kernel_drops() const {
  if (observes()) return 0;  // queue 0 has those of the interface
  const std::uint64_t now = link_->tx_dropped();
  return now > kernel_drops_before_ ? now - kernel_drops_before_ : 0;
}

}  // namespace splitnic::lan
