#include "control/config/values.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/parse_number.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::control {
namespace {

constexpr std::size_t kInterfaceNameMax = 15;
constexpr std::string_view kVia = "?via=";
constexpr std::string_view kPath = "&path=";
constexpr std::string_view kAll = "all";
constexpr std::string_view kUdpScheme = "udp://";
constexpr std::string_view kShmScheme = "shm://";

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return std::nullopt;
}

base::Error not_a(const std::string& text, const char* form) {
  return base::Error("'" + text + "' is not " + form);
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

base::Result<PortSpec> parse_file_port(const std::string& text, const std::string& rest) {
  constexpr const char* kForm = "file:IN.pcap,OUT.pcap[,loop][,speed=X]";
  constexpr std::string_view kSpeed = "speed=";
  constexpr double kSpeedMax = 1e9;
  PortSpec port;
  port.kind = PortSpec::Kind::kFile;
  port.text = text;
  const auto parts = split(rest, ',');
  if (parts.size() < 2 || (parts[0].empty() && parts[1].empty())) return not_a(text, kForm);
  port.input = parts[0];
  port.output = parts[1];
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    if (part == "loop") {
      port.is_looped = true;
      continue;
    }
    if (!part.starts_with(kSpeed)) return not_a(text, kForm);
    const auto speed = base::parse_number<double>(part.substr(kSpeed.size()), 0, kSpeedMax);
    if (!speed || *speed == 0 || *speed == kSpeedMax) return not_a(text, kForm);
    port.speed = *speed;
  }
  return port;
}

base::Result<PortSpec> parse_interface_port(PortSpec::Kind kind, const std::string& text,
                                            const std::string& name) {
  if (!is_interface_name(name)) {
    return base::Error("'" + name + "' cannot be the name of an interface");
  }
  PortSpec port;
  port.kind = kind;
  port.text = text;
  port.interface = name;
  return port;
}

// `rest` is IF[,inject=packet|pcap].
base::Result<PortSpec> parse_pcap_port(const std::string& text, const std::string& rest) {
  const std::size_t comma = rest.find(',');
  const std::string option = comma == std::string::npos ? "inject=packet" : rest.substr(comma + 1);
  if (option != "inject=packet" && option != "inject=pcap") {
    return base::Error("'" + option + "' of '" + text +
                       "' is neither inject=packet nor inject=pcap");
  }
  auto port = parse_interface_port(PortSpec::Kind::kPcap, text, rest.substr(0, comma));
  if (port && option == "inject=pcap") port->injection = lan::Injection::kPcap;
  return port;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) {
  return base::parse_number<std::uint64_t>(text, 0, max);
}

bool is_interface_name(std::string_view text) {
  if (text.empty() || text.size() > kInterfaceNameMax || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < '\x7F' && c != '/' && c != ':' && c != '%' && c != ',';
  });
}

base::Result<std::uint32_t> number_option(const std::string& option, const std::string& text,
                                          std::uint32_t min, std::uint32_t max) {
  const auto number = parse_number(text, max);
  if (!number || *number < min) {
    return base::Error(option + ": '" + text + "' is not a whole number from " +
                       std::to_string(min) + " to " + std::to_string(max));
  }
  return static_cast<std::uint32_t>(*number);
}

base::Result<lan::MacAddress> parse_any_mac(const std::string& text) {
  constexpr const char* kForm = "a MAC address like 02:00:00:00:00:01";
  lan::MacAddress mac{};
  if (text.size() != 3 * mac.size() - 1) return not_a(text, kForm);
  for (std::size_t i = 0; i < mac.size(); ++i) {
    const auto high = hex_digit(text[3 * i]);
    const auto low = hex_digit(text[3 * i + 1]);
    if (!high || !low || (i > 0 && text[3 * i - 1] != ':')) return not_a(text, kForm);
    mac[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return mac;
}

base::Result<lan::MacAddress> parse_mac(const std::string& text) {
  auto mac = parse_any_mac(text);
  if (mac && (lan::is_multicast(*mac) || *mac == lan::MacAddress{})) {
    return not_a(text, "a MAC address that one NIC can have (it is a group address or zero)");
  }
  return mac;
}

std::string mac_text(const lan::MacAddress& mac) {
  char out[18];
  std::snprintf(out, sizeof(out), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                mac[4], mac[5]);
  return out;
}

base::Result<PortSpec> parse_lan_port(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = colon == std::string::npos ? "pcap" : text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? text : text.substr(colon + 1);
  if (kind == "file") return parse_file_port(text, rest);
  if (kind == "pcap") return parse_pcap_port(text, rest);
  if (kind == "packet") return parse_interface_port(PortSpec::Kind::kPacket, text, rest);
  if (kind == "tap") return parse_interface_port(PortSpec::Kind::kTap, text, rest);
  return not_a(text, "pcap:IF, packet:IF, tap:NAME or file:IN.pcap,OUT.pcap");
}

base::Result<PortSpec> parse_tap(const std::string& text) {
  if (text.starts_with("file:")) return parse_file_port(text, text.substr(5));
  return parse_interface_port(PortSpec::Kind::kTap, text, text);
}

std::string PeerPlace::text() const {
  if (node.empty()) return at.text();
  const std::string number = path == fabric::kAllPaths ? std::string(kAll) : std::to_string(path);
  const std::string by = path == 0 ? "" : std::string(kPath) + number;
  if (at.is_shm()) return "shm://" + node + std::string(kVia) + at.host + by;
  return "udp://" + node + ":1" + std::string(kVia) + at.udp_text() + by;
}

base::Result<PeerPlace> parse_peer_place(const std::string& text) {
  const std::size_t via = text.find(kVia);
  if (via == std::string::npos) {
    const auto at = parse_unit_endpoint(text);
    return at ? base::Result<PeerPlace>(PeerPlace{*at, "", 0}) : at.error();
  }
  std::string node = text.substr(0, via);
  const bool is_shm = node.starts_with(kShmScheme);
  if (is_shm || node.starts_with(kUdpScheme)) node = node.substr(kUdpScheme.size());
  if (!is_shm && node.ends_with(":1")) node.resize(node.size() - 2);
  if (!is_node_name(node)) {
    return base::Error("'" + text + "' is not udp://UNIT:1" + std::string(kVia) +
                       "SWITCH:PORT with the name of a node in the topology");
  }
  std::string place = text.substr(via + kVia.size());
  std::optional<std::uint64_t> path = 0;
  if (const std::size_t by = place.find(kPath); by != std::string::npos) {
    const std::string_view number = std::string_view(place).substr(by + kPath.size());
    path = number == kAll ? fabric::kAllPaths : parse_number(number, fabric::kPathsMax - 1);
    place.resize(by);
  }
  if (!path) {
    return base::Error("'" + text + "' names no path: " + std::string(kPath.substr(1)) + "0 to " +
                       std::to_string(fabric::kPathsMax - 1) + ", or all");
  }
  const auto at = parse_unit_endpoint((is_shm ? "shm://" : "udp://") + place);
  if (!at) return at.error();
  return PeerPlace{*at, node, static_cast<std::uint32_t>(*path)};
}

base::Result<std::string> parse_tun(const std::string& text) {
  static constexpr std::string_view kKind = "tun:";
  std::string name = text.starts_with(kKind) ? text.substr(kKind.size()) : "";
  if (!is_interface_name(name)) return not_a(text, "tun:NAME with the name of an interface");
  return {boost::system::in_place_value, std::move(name)};
}

}  // namespace splitnic::control
