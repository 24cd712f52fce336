#include <array>
#include <sstream>

#include "base/hex.h"
#include "control/config/ip_address.h"
#include "control/config/values.h"
#include "control/daemon/mdns.h"

namespace splitnic::control {
namespace {

constexpr std::size_t kHashBytes = 16;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::uint64_t kPortMax = 65535;
// RFC 6763, section 4.1.1: the name of a service is one label. A node may have one byte more, and
// what is announced by a longer name is not announced at all.
constexpr std::size_t kServiceNameMax = 63;

bool is_hash(const std::string& text) {
  return text.size() == 2 * kHashBytes && text.find_first_not_of(kDigits) == std::string::npos;
}

}  // namespace

std::string key_hash(const fabric::session::PublicKey& key) {
  const auto whole = fabric::session::sha256({key.bytes});
  std::string out;
  base::put_hex(out, base::Bytes(whole).first(kHashBytes));
  return out;
}

std::string Announcement::packet() const {
  return name + "\n" + std::to_string(port) + "\n" + key_hash + "\n" + address + "\n";
}

std::optional<Announcement> Announcement::read(const std::string& packet) {
  std::istringstream lines(packet);
  std::array<std::string, 4> line;
  for (std::string& each : line) {
    if (!std::getline(lines, each)) return std::nullopt;
  }
  const auto port = parse_number(line[1], kPortMax);
  if (!is_node_name(line[0]) || !port || *port == 0 || !is_hash(line[2])) return std::nullopt;
  if (!line[3].empty() && !parse_ip(line[3])) return std::nullopt;
  return Announcement{line[0].substr(0, kServiceNameMax), static_cast<std::uint16_t>(*port),
                      line[2], line[3]};
}

}  // namespace splitnic::control
