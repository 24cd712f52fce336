#include "control/identity.h"

#include <fstream>

#include "control/common_options.h"

namespace splitnic::control {
namespace {

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return h ^ (h >> 31);
}

std::string machine_id() {
  std::string id;
  std::ifstream("/etc/machine-id") >> id;
  return id.empty() ? machine_name() : id;
}

}  // namespace

std::uint64_t node_eui64(const std::string& name, const std::string& role) {
  return hash_of(machine_id() + "/" + role + "/" + name) | 1;
}

MacBytes stable_mac(const std::string& name) {
  const std::uint64_t h = hash_of(machine_id() + "/mac/" + name);
  MacBytes mac{0x02};
  for (std::size_t i = 1; i < mac.size(); ++i) mac[i] = static_cast<std::uint8_t>(h >> (8 * i));
  return mac;
}

std::string udp_text(const Endpoint& endpoint) {
  const std::string text = endpoint.text();
  constexpr std::string_view kScheme = "udp://";
  return text.starts_with(kScheme) ? text.substr(kScheme.size()) : text;
}

}  // namespace splitnic::control
