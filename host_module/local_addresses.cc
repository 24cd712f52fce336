#include "host_module/local_addresses.h"

#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <netinet/in.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "base/hex.h"
#include "base/parse_number.h"

namespace splitnic::host {
namespace {

bool is_forwarding(const std::string& interface) {
  std::ifstream file("/proc/sys/net/ipv6/conf/" + interface + "/forwarding");
  int value = 0;
  return file >> value && value != 0;
}

// An alias is named "INTERFACE:LABEL".
bool is_of(std::string_view name, std::string_view interface) {
  return name == interface ||
         (name.starts_with(interface) && name.substr(interface.size()).starts_with(':'));
}

void add_ip4(const std::string& interface, std::vector<lan::LocalAddress>& to) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    if (!is_of(at->ifa_name, interface)) continue;
    sockaddr_in in{};
    std::memcpy(&in, at->ifa_addr, sizeof(in));
    lan::LocalAddress address;
    std::memcpy(address.bytes.data(), &in.sin_addr, sizeof(in.sin_addr));
    to.push_back(address);
  }
}

// From /proc, because getifaddrs() does not report which addresses are still tentative.
void add_ip6(const std::string& interface, std::vector<lan::LocalAddress>& to) {
  constexpr unsigned kNotOurs = IFA_F_TENTATIVE | IFA_F_DADFAILED;
  constexpr unsigned kFlagsMax = std::numeric_limits<unsigned>::max();
  const bool is_router = is_forwarding(interface);
  std::ifstream file("/proc/net/if_inet6");
  std::string digits, index, prefix, scope, flags, name;
  while (file >> digits >> index >> prefix >> scope >> flags >> name) {
    const auto state = base::parse_number<unsigned>(flags, 0, kFlagsMax, 16);
    if (name != interface || !state || (*state & kNotOurs) != 0) continue;
    lan::LocalAddress address{.is_ip6 = true, .is_router = is_router};
    if (!base::parse_hex(digits, std::as_writable_bytes(std::span(address.bytes)))) continue;
    to.push_back(address);
  }
}

}  // namespace

std::vector<lan::LocalAddress> local_addresses(const std::string& interface) {
  std::vector<lan::LocalAddress> found;
  add_ip4(interface, found);
  add_ip6(interface, found);
  return found;
}

}  // namespace splitnic::host
