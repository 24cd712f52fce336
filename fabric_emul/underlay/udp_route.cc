#include "fabric_emul/underlay/udp_route.h"

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace splitnic::fabric {
namespace {

using Buffer = std::array<char, 32768>;  // holds the longest reply about one interface

struct Route {
  std::uint8_t type = RTN_UNSPEC;
  std::uint32_t interface = 0;
  std::uint32_t mtu = 0;  // 0: the route states none
};

struct Interface {
  unsigned flags = 0;
  bool is_veth = false;
  std::uint32_t mtu = 0;
};

// One request and its one reply.
class RouteSocket {
 public:
  base::Status open() {
    socket_.reset(::mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
    if (!socket_ || ::mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
      return base::Error::from_errno("opening a netlink socket", errno);
    }
    const timeval limit{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(::mnl_socket_get_fd(socket_.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return {};
  }
  base::Status query(nlmsghdr* request, mnl_cb_t on_reply, void* into) {
    request->nlmsg_seq = ++sequence_;
    if (::mnl_socket_sendto(socket_.get(), request, request->nlmsg_len) < 0) {
      return base::Error::from_errno("sending a netlink request", errno);
    }
    const auto buffer = std::make_unique<Buffer>();
    const ssize_t n = ::mnl_socket_recvfrom(socket_.get(), buffer->data(), buffer->size());
    if (n < 0 || ::mnl_cb_run(buffer->data(), static_cast<std::size_t>(n), sequence_,
                              ::mnl_socket_get_portid(socket_.get()), on_reply, into) < 0) {
      return base::Error::from_errno("asking the kernel for a route", errno);
    }
    return {};
  }

 private:
  struct Closer {
    void operator()(mnl_socket* socket) const { ::mnl_socket_close(socket); }
  };
  std::unique_ptr<mnl_socket, Closer> socket_;
  unsigned sequence_ = 0;
};

// The bytes of an address as its route is looked up: IPv4, also where it is mapped into IPv6.
struct Target {
  explicit Target(const UdpAddress& address) {
    if (address.family() == AF_INET) {
      sockaddr_in v4;
      std::memcpy(&v4, address.get(), sizeof v4);
      std::memcpy(bytes.data(), &v4.sin_addr, size);
      return;
    }
    const in6_addr& v6 = address.v6().sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      std::memcpy(bytes.data(), v6.s6_addr + 12, size);
      return;
    }
    family = AF_INET6;
    size = sizeof v6;
    std::memcpy(bytes.data(), &v6, size);
  }
  bool is_any() const {
    return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
  }

  std::uint8_t family = AF_INET;
  std::size_t size = sizeof(in_addr);
  std::array<std::uint8_t, sizeof(in6_addr)> bytes{};
};

int on_metric(const nlattr* attribute, void* data) {
  if (::mnl_attr_get_type(attribute) == RTAX_MTU) {
    static_cast<Route*>(data)->mtu = ::mnl_attr_get_u32(attribute);
  }
  return MNL_CB_OK;
}

int on_route_attribute(const nlattr* attribute, void* data) {
  const std::uint16_t type = ::mnl_attr_get_type(attribute);
  if (type == RTA_METRICS) return ::mnl_attr_parse_nested(attribute, on_metric, data);
  if (type == RTA_OIF) static_cast<Route*>(data)->interface = ::mnl_attr_get_u32(attribute);
  return MNL_CB_OK;
}

int on_route(const nlmsghdr* message, void* data) {
  if (message->nlmsg_type != RTM_NEWROUTE) return MNL_CB_OK;
  rtmsg head;
  if (::mnl_nlmsg_get_payload_len(message) < sizeof head) return MNL_CB_OK;
  std::memcpy(&head, ::mnl_nlmsg_get_payload(message), sizeof head);
  static_cast<Route*>(data)->type = head.rtm_type;
  return ::mnl_attr_parse(message, sizeof(rtmsg), on_route_attribute, data);
}

base::Result<Route> find_route(RouteSocket& socket, const UdpAddress& to, const UdpAddress& from,
                               std::uint32_t interface, std::uint32_t flags) {
  const Target destination(to);
  const Target source(from);
  std::array<char, 256> buffer{};
  nlmsghdr* request = ::mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETROUTE;
  request->nlmsg_flags = NLM_F_REQUEST;
  auto* head = static_cast<rtmsg*>(::mnl_nlmsg_put_extra_header(request, sizeof(rtmsg)));
  head->rtm_family = destination.family;
  head->rtm_flags = flags;
  head->rtm_dst_len = static_cast<std::uint8_t>(8 * destination.size);
  ::mnl_attr_put(request, RTA_DST, destination.size, destination.bytes.data());
  if (source.family == destination.family && !source.is_any()) {
    head->rtm_src_len = static_cast<std::uint8_t>(8 * source.size);
    ::mnl_attr_put(request, RTA_SRC, source.size, source.bytes.data());
  }
  if (interface != 0) ::mnl_attr_put_u32(request, RTA_OIF, interface);
  Route route;
  if (auto status = socket.query(request, on_route, &route); !status) return status.error();
  return route;
}

int on_kind_attribute(const nlattr* attribute, void* data) {
  if (::mnl_attr_get_type(attribute) == IFLA_INFO_KIND) {
    static_cast<Interface*>(data)->is_veth =
        std::string_view(::mnl_attr_get_str(attribute)) == "veth";
  }
  return MNL_CB_OK;
}

int on_interface_attribute(const nlattr* attribute, void* data) {
  const std::uint16_t type = ::mnl_attr_get_type(attribute);
  if (type == IFLA_LINKINFO) return ::mnl_attr_parse_nested(attribute, on_kind_attribute, data);
  if (type == IFLA_MTU) static_cast<Interface*>(data)->mtu = ::mnl_attr_get_u32(attribute);
  return MNL_CB_OK;
}

int on_interface(const nlmsghdr* message, void* data) {
  if (message->nlmsg_type != RTM_NEWLINK) return MNL_CB_OK;
  ifinfomsg head;
  if (::mnl_nlmsg_get_payload_len(message) < sizeof head) return MNL_CB_OK;
  std::memcpy(&head, ::mnl_nlmsg_get_payload(message), sizeof head);
  static_cast<Interface*>(data)->flags = head.ifi_flags;
  return ::mnl_attr_parse(message, sizeof(ifinfomsg), on_interface_attribute, data);
}

base::Result<Interface> find_interface(RouteSocket& socket, std::uint32_t index) {
  std::array<char, 256> buffer{};
  nlmsghdr* request = ::mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETLINK;
  request->nlmsg_flags = NLM_F_REQUEST;
  auto* head = static_cast<ifinfomsg*>(::mnl_nlmsg_put_extra_header(request, sizeof(ifinfomsg)));
  head->ifi_family = AF_UNSPEC;
  head->ifi_index = static_cast<int>(index);
  Interface found;
  if (auto status = socket.query(request, on_interface, &found); !status) return status.error();
  return found;
}

std::uint32_t interface_of(const UdpAddress& to, const std::string& device) {
  if (!device.empty()) return ::if_nametoindex(device.c_str());
  return to.family() == AF_INET6 ? to.v6().sin6_scope_id : 0;
}

}  // namespace

base::Result<WayOut> find_way_out(const UdpAddress& to, const UdpAddress& from,
                                  const std::string& device) {
  RouteSocket socket;
  if (auto opened = socket.open(); !opened) return opened.error();
  const std::uint32_t bound = interface_of(to, device);
  const auto route = find_route(socket, to, from, bound, 0);
  if (!route) return route.error();
  const bool is_local = route->type == RTN_LOCAL;
  if ((route->type != RTN_UNICAST && !is_local) || route->interface == 0) {
    return base::Error("the route leads nowhere", EHOSTUNREACH);
  }
  const auto interface = find_interface(socket, route->interface);
  if (!interface) return interface.error();
  WayOut way;
  way.is_memory = is_local || interface->is_veth || (interface->flags & IFF_LOOPBACK) != 0;
  way.interface = route->interface;
  way.mtu = interface->mtu;
  if (route->mtu != 0) {
    // ICMP may have lowered it: the entry of the routing table has only what is configured.
    const auto entry = find_route(socket, to, from, bound, RTM_F_FIB_MATCH);
    if (entry && entry->mtu != 0) way.mtu = std::min<std::size_t>(way.mtu, entry->mtu);
  }
  return way;
}

bool is_own_address(const UdpAddress& address) {
  RouteSocket socket;
  if (!socket.open()) return true;
  const auto route = find_route(socket, address, address, interface_of(address, ""), 0);
  if (route) return route->type == RTN_LOCAL;
  return route.error().errno_value() == EAGAIN;
}

}  // namespace splitnic::fabric
