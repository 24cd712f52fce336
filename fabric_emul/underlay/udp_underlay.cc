// Set-up of the UDP underlay: names, sockets, options.
#include "fabric_emul/underlay/udp_underlay.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/host_port.h"
#include "base/ip6.h"
#include "base/log.h"
#include "fabric_emul/underlay/udp_address.h"
#include "fabric_emul/underlay/udp_route.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kReceiveBytes = 1 << 17;  // one GRO batch is below 64 KiB

// Of IP and UDP, and the longest packet that has them.
struct Headers {
  std::size_t bytes;
  std::size_t packet_bytes_max;
};
constexpr Headers kHeadersV4{28, 65535};
constexpr Headers kHeadersV6{48, 65535 + 40};

bool set_option(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

int get_option(int fd, int level, int option) {
  int value = -1;
  socklen_t bytes = sizeof(value);
  return getsockopt(fd, level, option, &value, &bytes) == 0 ? value : -1;
}

// An IPv6 socket that sends to ::ffff:a.b.c.d sends IPv4.
bool is_v4_path(const PeerAddress& address) {
  const UdpAddress native(address);
  if (native.family() == AF_INET) return true;
  return IN6_IS_ADDR_V4MAPPED(&native.v6().sin6_addr);
}

base::Result<std::vector<PeerAddress>> look_up_all(std::string_view text, int family,
                                                   bool to_bind) {
  const auto split = base::split_host_port(text);
  if (!split) {
    return base::Error(
        fmt::format("\"{}\" is not an address: write host:port or [IPv6 address]:port", text));
  }
  const std::string host(split->host);
  const std::string port(split->port);
  if (host.empty() && !to_bind) {
    return base::Error(fmt::format("\"{}\" names no host", text));
  }
  addrinfo hints{};
  hints.ai_family = host.empty() && family == AF_UNSPEC ? AF_INET6 : family;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = to_bind ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) {
    const std::string why = code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code);
    return base::Error(fmt::format("no address found for \"{}\": {}", text, why), EHOSTUNREACH);
  }
  std::vector<PeerAddress> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    addresses.push_back(UdpAddress(*at->ai_addr, at->ai_addrlen).peer());
  }
  freeaddrinfo(found);
  return addresses;
}

base::Result<PeerAddress> look_up(std::string_view text, int family, bool to_bind) {
  const auto all = look_up_all(text, family, to_bind);
  if (!all) return all.error();
  return all->front();
}

}  // namespace

base::Result<PeerAddress> UdpUnderlay::resolve(std::string_view text, int family) {
  return look_up(text, family, false);
}

base::Result<std::vector<PeerAddress>> UdpUnderlay::resolve_all(std::string_view text) {
  return look_up_all(text, AF_UNSPEC, false);
}

base::Result<std::unique_ptr<UdpUnderlay>> UdpUnderlay::open(const UdpConfig& config) {
  std::unique_ptr<UdpUnderlay> made(new UdpUnderlay());
  if (const base::Status status = made->set_up(config); !status) {
    return status.error().within("UDP underlay");
  }
  return made;
}

base::Status UdpUnderlay::set_up(const UdpConfig& config) {
  int family = AF_INET6;
  if (!config.connect.empty()) {
    const auto peer = resolve(config.connect);
    if (!peer) return peer.error();
    connected_to_ = peer_ = *peer;
    family = UdpAddress(*peer).family();
  }
  if (!config.bind.empty()) {
    const auto local = look_up(config.bind, config.connect.empty() ? AF_UNSPEC : family, true);
    if (!local) return local.error();
    family = UdpAddress(*local).family();
  }
  if (base::Status status = open_socket(family); !status) return status;
  if (base::Status status = bind_to(config, family); !status) return status;
  if (!config.connect.empty()) {
    const UdpAddress peer(connected_to_);
    if (!config.is_awaited && ::connect(fd_.get(), peer.get(), peer.bytes()) != 0) {
      return base::Error::from_errno("connecting to " + config.connect, errno);
    }
    is_connected_ = true;
  } else if (UdpAddress(local_address()).is_any()) {
    // To reply from the address that the request came to (udp_local_table.h).
    const bool v6 = family == AF_INET6;
    set_option(fd_.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVPKTINFO : IP_PKTINFO, 1);
  }
  set_limits(config);
  if (!is_connected_) incoming_cpu_ = IncomingCpu::of(fd_.get());
  buffer_.resize(kReceiveBytes);
  return {};
}

base::Status UdpUnderlay::open_socket(int family) {
  family_ = family;
  fd_.reset(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!fd_.valid()) return base::Error::from_errno("opening a UDP socket", errno);
  // Never fragment, on either kind of path that this socket may take, and send what the interface
  // carries, whatever ICMP reported. [H-6]
  bool whole = true;
  if (family == AF_INET6) {
    set_option(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    whole = set_option(fd_.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
  }
  whole = set_option(fd_.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) && whole;
  if (!whole) return base::Error::from_errno("forbidding fragments on the UDP socket", errno);
  return {};
}

base::Status UdpUnderlay::tie_to_device() {
  if (bind_device_.empty() ||
      setsockopt(fd_.get(), SOL_SOCKET, SO_BINDTODEVICE, bind_device_.c_str(),
                 static_cast<socklen_t>(bind_device_.size())) == 0) {
    return {};
  }
  return base::Error::from_errno("tying the UDP socket to interface " + bind_device_, errno);
}

base::Status UdpUnderlay::bind_to(const UdpConfig& config, int family) {
  bind_device_ = config.bind_device;
  without_interfaces_ = config.without_interfaces;
  own_device_ = config.own_device;
  if (base::Status status = tie_to_device(); !status) return status;
  is_bound_ = !config.bind.empty();
  if (!is_bound_) return {};
  const auto local = look_up(config.bind, family, true);
  if (!local) return local.error();
  const UdpAddress address(*local);
  if (::bind(fd_.get(), address.get(), address.bytes()) == 0) return {};
  const int error = errno;
  const std::string what = "binding to " + config.bind;
  if (error == EADDRINUSE) {
    return base::Error(
        what + ": the address is in use; another program has this port, choose another", error);
  }
  if (error == EADDRNOTAVAIL) {
    return base::Error(what + ": no interface of this machine has this address", error);
  }
  return base::Error::from_errno(what, error);
}

// Once the socket has its address: whoever tries until it does has each limit in the log once.
void UdpUnderlay::set_limits(const UdpConfig& config) {
  set_buffers(config);
  segment_ = config.segment;
  buffer_bytes_ = config.buffer_bytes;
  gathers_ = config.gather;
  if (config.gather && !set_option(fd_.get(), SOL_UDP, UDP_GRO, 1) && config.reports_limits) {
    base::log_warn("this kernel has no UDP_GRO: datagrams come one by one");
  }
}

void UdpUnderlay::set_buffers(const UdpConfig& config) {
  const int fd = fd_.get();
  const int wanted = static_cast<int>(config.buffer_bytes);
  // FORCE needs CAP_NET_ADMIN; without it the system clamps to net.core.rmem_max.
  if (!set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, wanted)) {
    set_option(fd, SOL_SOCKET, SO_RCVBUF, wanted);
  }
  if (!set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, wanted)) {
    set_option(fd, SOL_SOCKET, SO_SNDBUF, wanted);
  }
  // The kernel doubles the requested size, for its own bookkeeping.
  const int got = get_option(fd, SOL_SOCKET, SO_RCVBUF);
  receive_buffer_bytes_ = got > 0 ? static_cast<std::size_t>(got) / 2 : 0;
  const std::size_t bytes_min = std::min(config.buffer_bytes, kUdpBufferBytesMin);
  if (receive_buffer_bytes_ < bytes_min && config.reports_limits) {
    base::log_warn(
        fmt::format("UDP receive buffer is {} bytes only: loss is likely at speed; raise "
                    "net.core.rmem_max to {}",
                    receive_buffer_bytes_, kUdpBufferBytesMin));
  }
}

PeerAddress UdpUnderlay::local_address() const {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(storage);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(fd_.get(), address, &bytes) != 0) return {};
  return UdpAddress(*address, bytes).peer();
}

PathKind UdpUnderlay::path_kind(const PeerAddress& to) const {
  const auto way = find_way_out(UdpAddress(actual(to)), UdpAddress(local_address()), bind_device_);
  return way && way->is_memory ? PathKind::kMemory : PathKind::kNetwork;
}

std::size_t UdpUnderlay::datagram_bytes_max(const PeerAddress& to) const {
  const auto way = find_way_out(UdpAddress(actual(to)), UdpAddress(local_address()), bind_device_);
  const Headers& headers = is_v4_path(actual(to)) ? kHeadersV4 : kHeadersV6;
  const std::size_t mtu = std::min(way ? way->mtu : base::kIp6MtuMin, headers.packet_bytes_max);
  return mtu > headers.bytes ? mtu - headers.bytes : 0;
}

std::string UdpUnderlay::name_of(const PeerAddress& peer) const {
  return UdpAddress(actual(peer)).text();
}

}  // namespace splitnic::fabric
