// Endpoints of values.h.
#include <algorithm>
#include <utility>

#include "base/host_port.h"
#include "base/parse_number.h"
#include "control/config/values.h"

namespace splitnic::control {
namespace {

constexpr std::size_t kHostNameMax = 253;
constexpr std::uint16_t kPortMax = 65535;
constexpr const char* kEndpointForm =
    "udp://ADDRESS:PORT, udp://[V6ADDRESS]:PORT or shm://NAME (PORT 1 to 65535)";
constexpr const char* kUnitForm =
    "udp://ADDRESS:PORT, udp://[V6ADDRESS]:PORT or shm://NAME (PORT 1 to 65535; udp:// and PORT "
    "may be left out)";
constexpr std::string_view kUdp = "udp://";
constexpr std::string_view kShm = "shm://";

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
  const auto split = base::split_host_port(rest);
  if (!split) return bad_endpoint(text);
  const auto port = base::parse_number<std::uint16_t>(split->port, 1, kPortMax);
  if (!port) return bad_endpoint(text);
  endpoint.port = *port;

  std::string_view host = split->host;
  endpoint.host = host;
  const std::size_t percent = split->is_bracketed ? host.find('%') : std::string_view::npos;
  if (percent != std::string_view::npos) {
    endpoint.zone = host.substr(percent + 1);
    if (!is_interface_name(endpoint.zone)) return bad_endpoint(text);
    host = host.substr(0, percent);
  }
  endpoint.ip = parse_ip(host);
  const bool looks_v6 = host.find(':') != std::string_view::npos;
  if (looks_v6 != split->is_bracketed) return bad_endpoint(text);
  if (endpoint.ip) return endpoint;
  if (split->is_bracketed || !is_host_name(host)) return bad_endpoint(text);
  return endpoint;
}

// The part behind the last colon may be a port, or belong to the address: fd00::7:7471.
bool is_ambiguous(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  return base::parse_number<std::uint16_t>(address.substr(colon + 1), 0, kPortMax) &&
         parse_ip(address.substr(0, colon));
}

// Returns HOST:PORT, with brackets and with the port of an I/O unit where there is none.
base::Result<std::string> with_port(const std::string& text, std::string_view rest) {
  const std::string port = ":" + std::to_string(kUnitPort);
  const std::string typed(rest);
  const auto colons = std::ranges::count(rest, ':');
  const bool is_v6 = colons > 1 && !rest.starts_with('[');
  if (is_v6 && is_ambiguous(rest)) {
    const auto colon = typed.rfind(':');
    return base::Error("'" + text + "' can be read in two ways: [" + typed + "], or [" +
                       typed.substr(0, colon) + "]" + typed.substr(colon) + ": give the brackets");
  }
  std::string out = is_v6 ? "[" + typed + "]" : typed;
  if (is_v6 || (colons == 0 && !rest.empty()) || rest.ends_with(']')) out += port;
  return {boost::system::in_place_value, std::move(out)};
}

}  // namespace

base::Result<Endpoint> Endpoint::of_queue(std::uint32_t queue) const {
  Endpoint of = *this;
  if (is_shm()) {
    if (queue > 0) of.host += "." + std::to_string(queue);
    return of;
  }
  const std::uint32_t wanted = port + queue;
  if (wanted > kPortMax) {
    return base::Error(text() + ": queue " + std::to_string(queue) + " would be at port " +
                       std::to_string(wanted) + ": choose a lower port or a smaller --queues");
  }
  of.port = static_cast<std::uint16_t>(wanted);
  return of;
}

std::string Endpoint::text() const {
  return kind == Kind::kShm ? "shm://" + host : "udp://" + udp_text();
}

std::string Endpoint::udp_text() const {
  const bool is_bracketed = host.find(':') != std::string::npos;
  return (is_bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

base::Result<Endpoint> parse_unit_endpoint(const std::string& text) {
  if (text.starts_with(kShm)) return parse_endpoint(text);
  const std::string_view rest =
      std::string_view(text).substr(text.starts_with(kUdp) ? kUdp.size() : 0);
  const auto place = with_port(text, rest);
  if (!place) return place.error();
  auto endpoint = parse_udp(text, *place);
  if (!endpoint) return base::Error("'" + text + "' is not " + kUnitForm);
  return endpoint;
}

base::Result<Endpoint> parse_endpoint(const std::string& text) {
  const std::string_view whole = text;
  if (whole.starts_with(kUdp)) return parse_udp(text, whole.substr(kUdp.size()));
  if (!whole.starts_with(kShm)) return bad_endpoint(text);
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kShm;
  endpoint.host = whole.substr(kShm.size());
  if (!is_node_name(endpoint.host)) return bad_endpoint(text);
  return endpoint;
}

base::Status check_lab(bool is_insecure_lab, const std::string& option, const Endpoint& endpoint) {
  if (is_insecure_lab || endpoint.is_shm()) return {};
  return base::Error(
      option + " " + endpoint.text() +
      " is open to whoever can send to it, on loopback to every user: without keys (--key-file) "
      "use shm://NAME, or add --insecure-lab if network and machine are yours alone");
}

}  // namespace splitnic::control
