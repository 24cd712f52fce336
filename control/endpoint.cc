// Fabric addresses of values.h: IP addresses, endpoints, CIDR blocks.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "control/values.h"

namespace splitnic::control {
namespace {

constexpr std::size_t kHostNameMax = 253;
constexpr const char* kEndpointForm =
    "udp://ADDRESS:PORT, udp://[V6ADDRESS]:PORT or shm://NAME (PORT 1 to 65535)";

base::Error bad_endpoint(const std::string& text) {
  return base::Error("'" + text + "' is not " + kEndpointForm);
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > kHostNameMax || text[0] == '-' || text[0] == '.') return false;
  bool has_letter = false;  // 192.0.2.300 is a mistyped address, not a name
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_letter && !is_digit && c != '.' && c != '-' && c != '_') return false;
    has_letter = has_letter || is_letter;
  }
  return has_letter;
}

base::Result<Endpoint> parse_udp(const std::string& text, std::string_view rest) {
  Endpoint endpoint;
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return bad_endpoint(text);
  const auto port = parse_number(rest.substr(colon + 1), 65535);
  if (!port || *port == 0) return bad_endpoint(text);
  endpoint.port = static_cast<std::uint16_t>(*port);

  std::string_view host = rest.substr(0, colon);
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  endpoint.host = host;
  const std::size_t percent = is_bracketed ? host.find('%') : std::string_view::npos;
  if (percent != std::string_view::npos) {
    endpoint.zone = host.substr(percent + 1);
    if (!is_interface_name(endpoint.zone)) return bad_endpoint(text);
    host = host.substr(0, percent);
  }
  endpoint.ip = parse_ip(host);
  const bool looks_v6 = host.find(':') != std::string_view::npos;
  if (looks_v6 != is_bracketed) return bad_endpoint(text);
  if (endpoint.ip) return endpoint;
  if (is_bracketed || !is_host_name(host)) return bad_endpoint(text);
  return endpoint;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  const std::string copy(text);
  if (copy.size() != std::strlen(copy.c_str())) return std::nullopt;
  IpAddress address;
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, copy.c_str(), &v4) == 1) {
    std::memcpy(address.bytes.data(), &v4, sizeof(v4));
    return address;
  }
  if (inet_pton(AF_INET6, copy.c_str(), &v6) != 1) return std::nullopt;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    std::memcpy(address.bytes.data(), &v6.s6_addr[12], 4);
    return address;
  }
  address.is_v6 = true;
  std::memcpy(address.bytes.data(), &v6, sizeof(v6));
  return address;
}

bool IpAddress::is_loopback() const {
  if (!is_v6) return bytes[0] == 127;
  std::array<std::uint8_t, 16> one{};
  one[15] = 1;
  return bytes == one;
}

bool Endpoint::is_local() const {
  if (kind == Kind::kShm) return true;
  if (ip) return ip->is_loopback();
  return host == "localhost";
}

std::string Endpoint::text() const {
  if (kind == Kind::kShm) return "shm://" + host;
  const bool is_bracketed = host.find(':') != std::string::npos;
  return "udp://" + (is_bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

base::Result<Endpoint> parse_endpoint(const std::string& text) {
  constexpr std::string_view kUdp = "udp://";
  constexpr std::string_view kShm = "shm://";
  const std::string_view whole = text;
  if (whole.starts_with(kUdp)) return parse_udp(text, whole.substr(kUdp.size()));
  if (!whole.starts_with(kShm)) return bad_endpoint(text);
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kShm;
  endpoint.host = whole.substr(kShm.size());
  if (!is_node_name(endpoint.host)) return bad_endpoint(text);
  return endpoint;
}

base::Result<Cidr> parse_cidr(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto network = parse_ip(std::string_view(text).substr(0, slash));
  const base::Error bad("'" + text + "' is not an address block like 192.0.2.0/24 or fd00::/8");
  if (!network) return bad;
  const unsigned bits_max = network->is_v6 ? 128 : 32;
  Cidr block{*network, bits_max};
  if (slash != std::string::npos) {
    const auto bits = parse_number(std::string_view(text).substr(slash + 1), bits_max);
    if (!bits) return bad;
    block.prefix_bits = static_cast<unsigned>(*bits);
  }
  for (unsigned bit = block.prefix_bits; bit < bits_max; ++bit) {
    if ((network->bytes[bit / 8] & (0x80U >> (bit % 8))) != 0) {
      return base::Error("'" + text +
                         "' has bits behind its prefix: did you mean a smaller block?");
    }
  }
  return block;
}

bool Cidr::contains(const IpAddress& address) const {
  if (address.is_v6 != network.is_v6) return false;
  for (unsigned bit = 0; bit < prefix_bits; ++bit) {
    const unsigned differs = address.bytes[bit / 8] ^ network.bytes[bit / 8];
    if ((differs & (0x80U >> (bit % 8))) != 0) return false;
  }
  return true;
}

}  // namespace splitnic::control
