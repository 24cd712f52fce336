#include "host_module/route_check.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "control/values.h"

namespace splitnic::host {
namespace {

bool has_address(const sockaddr* address, const control::IpAddress& ip) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET && !ip.is_v6) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    return std::memcmp(&v4.sin_addr, ip.bytes.data(), 4) == 0;
  }
  if (address->sa_family == AF_INET6 && ip.is_v6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    return std::memcmp(&v6.sin6_addr, ip.bytes.data(), 16) == 0;
  }
  return false;
}

}  // namespace

std::string interface_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto ip = control::parse_ip(host.substr(0, host.find('%')));
  ifaddrs* list = nullptr;
  if (!ip || getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (has_address(at->ifa_addr, *ip)) return at->ifa_name;
  }
  return {};
}

}  // namespace splitnic::host
