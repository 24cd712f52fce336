#include "host_module/route_check.h"

#include <ifaddrs.h>

#include <memory>

#include "control/config/ip_address.h"

namespace splitnic::host {

std::optional<std::string> interface_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const auto ip = control::parse_ip(host.substr(0, host.find('%')));
  ifaddrs* list = nullptr;
  if (!ip || getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr != nullptr && control::ip_of(*at->ifa_addr) == ip) return at->ifa_name;
  }
  return std::nullopt;
}

}  // namespace splitnic::host
