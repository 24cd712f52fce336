#include "lan_bridge/ports/netlink_link.h"

#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "lan_bridge/ports/netlink_request.h"

namespace splitnic::lan {
namespace {

constexpr std::size_t kBufferBytes = 32768;
constexpr unsigned kLowerUp = 1U << 16;  // IFF_LOWER_UP: <linux/if.h> clashes with <net/if.h>
constexpr std::uint16_t kAttributeAllMulticast = 61;  // IFLA_ALLMULTI, Linux 6.0
using RequestBuffer = std::array<char, 1024>;

int on_tap_attribute(const nlattr* attribute, void* data) {
  const std::uint16_t type = mnl_attr_get_type(attribute);
  if (type == IFLA_TUN_NUM_QUEUES || type == IFLA_TUN_NUM_DISABLED_QUEUES) {
    static_cast<LinkInfo*>(data)->tap_queues += mnl_attr_get_u32(attribute);
  }
  return MNL_CB_OK;
}

struct LinkKind {
  std::string_view name;
  const nlattr* details = nullptr;
};
int on_kind_attribute(const nlattr* attribute, void* data) {
  auto& kind = *static_cast<LinkKind*>(data);
  const std::uint16_t type = mnl_attr_get_type(attribute);
  if (type == IFLA_INFO_KIND) kind.name = mnl_attr_get_str(attribute);
  if (type == IFLA_INFO_DATA) kind.details = attribute;
  return MNL_CB_OK;
}

int on_attribute(const nlattr* attribute, void* data) {
  auto& info = *static_cast<LinkInfo*>(data);
  const std::size_t bytes = mnl_attr_get_payload_len(attribute);
  switch (mnl_attr_get_type(attribute)) {
    case IFLA_IFNAME:
      info.name = mnl_attr_get_str(attribute);
      break;
    case IFLA_IFALIAS:
      info.alias = mnl_attr_get_str(attribute);
      break;
    case IFLA_MTU:
      info.state.mtu = mnl_attr_get_u32(attribute);
      break;
    case IFLA_PROMISCUITY:
      info.promiscuity = mnl_attr_get_u32(attribute);
      if (info.promiscuity > 0) info.state.promiscuous = true;
      break;
    case kAttributeAllMulticast:
      if (mnl_attr_get_u32(attribute) > 0) info.state.all_multicast = true;
      break;
    case IFLA_ADDRESS:
      if (bytes == info.state.mac.size()) {
        std::memcpy(info.state.mac.data(), mnl_attr_get_payload(attribute), bytes);
      }
      break;
    case IFLA_STATS64:
      if (bytes >= offsetof(rtnl_link_stats64, multicast)) {
        rtnl_link_stats64 stats{};
        std::memcpy(&stats, mnl_attr_get_payload(attribute), std::min(bytes, sizeof stats));
        info.tx_dropped = stats.tx_dropped;
      }
      break;
    case IFLA_LINKINFO: {
      LinkKind kind;
      mnl_attr_parse_nested(attribute, on_kind_attribute, &kind);
      if (kind.name == "tun" && kind.details != nullptr) {
        mnl_attr_parse_nested(kind.details, on_tap_attribute, &info);
      }
      break;
    }
    default:
      break;
  }
  return MNL_CB_OK;
}

// Returns nullopt if the message is not about an interface as such: a bridge uses the same message
// for its ports.
std::optional<LinkInfo> parse_link(const nlmsghdr* message) {
  if (mnl_nlmsg_get_payload_len(message) < sizeof(ifinfomsg)) return std::nullopt;
  ifinfomsg head;
  std::memcpy(&head, mnl_nlmsg_get_payload(message), sizeof head);
  if (head.ifi_family != AF_UNSPEC) return std::nullopt;
  LinkInfo info;
  info.index = static_cast<unsigned>(head.ifi_index);
  info.state.admin_up = (head.ifi_flags & IFF_UP) != 0;
  info.state.link_up = info.state.admin_up && (head.ifi_flags & kLowerUp) != 0;
  info.state.promiscuous = (head.ifi_flags & IFF_PROMISC) != 0;
  info.state.all_multicast = (head.ifi_flags & IFF_ALLMULTI) != 0;
  mnl_attr_parse(message, sizeof(ifinfomsg), on_attribute, &info);
  return info;
}

nlmsghdr* begin_request(RequestBuffer& buffer, std::uint16_t type, unsigned index,
                        std::optional<std::uint32_t> namespace_id = std::nullopt) {
  const auto request = begin_netlink_request<ifinfomsg>(buffer, type, NLM_F_REQUEST | NLM_F_ACK);
  request.head->ifi_index = static_cast<int>(index);
  if (namespace_id) mnl_attr_put_u32(request.message, IFLA_TARGET_NETNSID, *namespace_id);
  return request.message;
}

int on_namespace_attribute(const nlattr* attribute, void* data) {
  if (mnl_attr_get_type(attribute) == NETNSA_NSID) {
    static_cast<LinkInfo*>(data)->namespace_id = mnl_attr_get_u32(attribute);
  }
  return MNL_CB_OK;
}

int on_reply(const nlmsghdr* message, void* data) {
  auto* reply = static_cast<LinkInfo*>(data);
  if (reply != nullptr && message->nlmsg_type == RTM_NEWLINK) {
    if (auto info = parse_link(message)) *reply = *info;
  }
  if (reply != nullptr && message->nlmsg_type == RTM_NEWNSID) {
    mnl_attr_parse(message, sizeof(rtgenmsg), on_namespace_attribute, reply);
  }
  return MNL_CB_OK;
}

}  // namespace

void NetlinkLink::SocketCloser::operator()(mnl_socket* socket) const { mnl_socket_close(socket); }

base::Result<NetlinkLink::Socket> NetlinkLink::open_socket(unsigned groups) {
  Socket socket(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
  if (!socket || mnl_socket_bind(socket.get(), groups, MNL_SOCKET_AUTOPID) < 0) {
    return base::Error::from_errno("opening a netlink socket", errno);
  }
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(mnl_socket_get_fd(socket.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return socket;
}

base::Status NetlinkLink::query(mnl_socket* socket, nlmsghdr* request, LinkInfo* reply) {
  return exchange(socket, request, on_reply, reply);
}

base::Status NetlinkLink::exchange(mnl_socket* socket, nlmsghdr* request,
                                   int (*on_message)(const nlmsghdr*, void*), void* data) {
  static thread_local unsigned sequence = 0;
  request->nlmsg_seq = ++sequence;
  if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0) {
    return base::Error::from_errno("sending a netlink request", errno);
  }
  std::vector<char> buffer(kBufferBytes);
  for (;;) {
    const ssize_t n = mnl_socket_recvfrom(socket, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return base::Error::from_errno("the kernel did not reply", errno);
    const int result = mnl_cb_run(buffer.data(), static_cast<std::size_t>(n), request->nlmsg_seq,
                                  mnl_socket_get_portid(socket), on_message, data);
    if (result < 0 && errno == EPROTO) continue;  // the late reply to a request that timed out
    if (result < 0) return base::Error::from_errno("the kernel refused", errno);
    if (result == MNL_CB_STOP) return {};
  }
}

base::Result<std::optional<LinkInfo>> NetlinkLink::find(const std::string& name) {
  const auto socket = open_socket(0);
  if (!socket) return socket.error();
  return find(socket->get(), name, std::nullopt);
}

base::Result<std::optional<LinkInfo>> NetlinkLink::find(mnl_socket* socket, const std::string& name,
                                                        std::optional<std::uint32_t> namespace_id) {
  RequestBuffer buffer{};
  nlmsghdr* request = begin_request(buffer, RTM_GETLINK, 0, namespace_id);
  mnl_attr_put_strz(request, IFLA_IFNAME, name.c_str());
  LinkInfo info;
  const base::Status status = query(socket, request, &info);
  if (status) return std::optional<LinkInfo>(info);
  if (status.error().errno_value() == ENODEV) return std::optional<LinkInfo>();
  return status.error().within("looking for the interface " + name);
}

base::Result<std::unique_ptr<NetlinkLink>> NetlinkLink::open(const std::string& name) {
  auto link = open_sockets();
  if (!link) return link.error();
  auto info = find(name);
  if (!info) return info.error();
  if (!*info) return base::Error(name + ": no such interface", ENODEV);
  (*link)->update(**info);
  return link;
}

base::Result<std::unique_ptr<NetlinkLink>> NetlinkLink::open_sockets() {
  std::unique_ptr<NetlinkLink> link(new NetlinkLink);
  auto events = open_socket(RTMGRP_LINK);  // before the first query, so that no event is missed
  if (!events) return events.error();
  auto requests = open_socket(0);
  if (!requests) return requests.error();
  link->events_ = std::move(*events);
  link->requests_ = std::move(*requests);
  link->buffer_.resize(kBufferBytes);
  const int fd = link->event_fd();
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) {
    return base::Error::from_errno("opening a netlink socket", errno);
  }
  struct stat home {};
  if (::stat("/proc/thread-self/ns/net", &home) == 0) link->home_ = home.st_ino;
  link->ioctl_socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return link;
}

int NetlinkLink::event_fd() const { return mnl_socket_get_fd(events_.get()); }

const PortState& NetlinkLink::state() {
  read_events();
  return info_.state;
}

const PortState& NetlinkLink::refresh() {
  read_events();  // they are older than the reply
  if (!is_gone_) query_state();
  return info_.state;
}

void NetlinkLink::on_events(const char* data, std::size_t bytes) {
  const auto on_event = [](const nlmsghdr* message, void* self_data) {
    auto& self = *static_cast<NetlinkLink*>(self_data);
    const auto info = parse_link(message);
    if (!info) return MNL_CB_OK;
    if (self.is_gone_) {
      self.on_event_of_another(*info, message->nlmsg_type == RTM_DELLINK);
      return MNL_CB_OK;
    }
    if (info->index != self.info_.index) return MNL_CB_OK;
    if (message->nlmsg_type == RTM_NEWLINK) self.update(*info);
    if (message->nlmsg_type == RTM_DELLINK) self.set_gone();
    return MNL_CB_OK;
  };
  mnl_cb_run(data, bytes, 0, 0, on_event, this);
}

void NetlinkLink::query_state() {
  RequestBuffer buffer{};
  LinkInfo info;
  const base::Status status =
      query(requests_.get(), begin_request(buffer, RTM_GETLINK, info_.index, namespace_id_), &info);
  if (status) {
    update(info);
  } else if (status.error().errno_value() == ENODEV) {
    set_gone();
  }
}

void NetlinkLink::set_gone() {
  is_gone_ = true;
  info_.state.link_up = info_.state.admin_up = false;
  ++changes_;
}

// The kernel takes settings only in the namespace of the socket.
base::Error NetlinkLink::not_here(const char* what) const {
  return base::Error(
      info_.name + ": setting " + what + ": it is in another network namespace: set it there",
      EXDEV);
}

int NetlinkLink::ethtool(void* command) {
  if (is_elsewhere()) return -1;
  ifreq request{};
  std::strncpy(request.ifr_name, info_.name.c_str(), IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(command);
  return ::ioctl(ioctl_socket_.get(), SIOCETHTOOL, &request);
}

base::Status NetlinkLink::set_speed(std::uint32_t mbps, bool is_full_duplex) {
  if (is_elsewhere()) return not_here("the speed");
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  if (ethtool(&command) == 0) {
    command.cmd = ETHTOOL_SSET;
    ethtool_cmd_speed_set(&command, mbps);
    command.duplex = is_full_duplex ? DUPLEX_FULL : DUPLEX_HALF;
    command.autoneg = AUTONEG_DISABLE;
    if (ethtool(&command) == 0) return {};
  }
  return base::Error::from_errno(info_.name + ": setting the speed", errno);
}

void NetlinkLink::update(const LinkInfo& info) {
  const PortState before = std::exchange(info_, info).state;
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  if (ethtool(&command) == 0) {
    const std::uint32_t speed = ethtool_cmd_speed(&command);
    info_.state.speed_mbps = speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
    info_.state.full_duplex = command.duplex != DUPLEX_HALF;
  }
  if (info_.state != before) ++changes_;
}

base::Status NetlinkLink::change(std::uint16_t attribute, const void* data, std::size_t bytes,
                                 const char* what) {
  if (is_elsewhere()) return not_here(what);
  RequestBuffer buffer{};
  nlmsghdr* request = begin_request(buffer, RTM_NEWLINK, info_.index);
  if (!mnl_attr_put_check(request, buffer.size(), attribute, bytes, data)) {
    return base::Error(info_.name + ": setting " + what + ": too long", EINVAL);
  }
  const base::Status status = query(requests_.get(), request, nullptr);
  if (!status) return status.error().within(info_.name + ": setting " + what);
  return {};
}

base::Status NetlinkLink::set_mtu(std::uint32_t mtu) {
  return change(IFLA_MTU, &mtu, sizeof mtu, "the MTU");
}
base::Status NetlinkLink::set_mac(const MacAddress& mac) {
  return change(IFLA_ADDRESS, mac.data(), mac.size(), "the MAC address");
}
base::Status NetlinkLink::set_alias(const std::string& alias) {
  return change(IFLA_IFALIAS, alias.data(), alias.size(), "the alias");
}
base::Status NetlinkLink::set_gso_max(std::uint32_t bytes) {
  return change(IFLA_GSO_MAX_SIZE, &bytes, sizeof bytes, "gso_max_size");
}

base::Status NetlinkLink::set_flag(unsigned flag, bool on, const char* what) {
  if (is_elsewhere()) return not_here(what);
  RequestBuffer buffer{};
  nlmsghdr* request = begin_request(buffer, RTM_NEWLINK, info_.index);
  auto* head = static_cast<ifinfomsg*>(mnl_nlmsg_get_payload(request));
  head->ifi_change = flag;
  if (on) head->ifi_flags = flag;
  const base::Status status = query(requests_.get(), request, nullptr);
  if (!status) return status.error().within(info_.name + ": setting " + what);
  return {};
}
base::Status NetlinkLink::set_up(bool up) { return set_flag(IFF_UP, up, "it up or down"); }
base::Status NetlinkLink::set_promiscuous(bool on) {
  return set_flag(IFF_PROMISC, on, "promiscuous mode");
}

// Leaves the state as it is: whoever waits for event_fd() misses nothing.
std::optional<std::uint32_t> NetlinkLink::query_promiscuity() {
  RequestBuffer buffer{};
  LinkInfo info;
  nlmsghdr* request = begin_request(buffer, RTM_GETLINK, info_.index, namespace_id_);
  if (!query(requests_.get(), request, &info)) return std::nullopt;
  return info.promiscuity;
}

std::uint64_t NetlinkLink::tx_dropped() {
  RequestBuffer buffer{};
  LinkInfo info;
  nlmsghdr* request = begin_request(buffer, RTM_GETLINK, info_.index, namespace_id_);
  if (!query(requests_.get(), request, &info)) return 0;
  return info.tx_dropped;
}

}  // namespace splitnic::lan
