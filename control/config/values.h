// The values that people type, as types: endpoints, MACs, ports, numbers. Parsing only: no name is
// looked up and no file is opened. An error is one sentence that quotes what was typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/node_name.h"
#include "base/status.h"
#include "control/config/ip_address.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/ports/port_spec.h"

namespace splitnic::control {

using base::is_node_name;
using lan::PortSpec;

// udp://ADDRESS:PORT, udp://[V6]:PORT, udp://[V6%ZONE]:PORT, udp://NAME:PORT, shm://NAME
struct Endpoint {
  enum class Kind : std::uint8_t { kUdp, kShm };
  Kind kind = Kind::kUdp;
  std::string host;             // address (with its zone, without brackets) or name; shm: the name
  std::uint16_t port = 0;       // udp: never 0
  std::optional<IpAddress> ip;  // none: shm, or a name to be resolved
  std::string zone;             // of a link-local address
  bool is_name() const { return kind == Kind::kUdp && !ip; }
  bool is_shm() const { return kind == Kind::kShm; }
  std::string text() const;  // as one types it
  // Returns where queue `queue` of a program meets its peer: the port that follows by `queue`, or
  // NAME.queue; queue 0 is this endpoint. An error: no such port.
  base::Result<Endpoint> of_queue(std::uint32_t queue) const;
  // "HOST:PORT", with brackets where the address needs them. REQUIRES kind == kUdp.
  std::string udp_text() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
base::Result<Endpoint> parse_endpoint(const std::string& text);
// The same, of an I/O unit or of what stands in its place: without a scheme it is udp://, without a
// port it is kUnitPort, and then an IPv6 address needs no brackets.
inline constexpr std::uint16_t kUnitPort = 7471;
base::Result<Endpoint> parse_unit_endpoint(const std::string& text);

// A peer: at an endpoint, or the node of this name behind the port of a switch there:
// udp://NODE:1?via=SWITCH:PORT, shm://NODE?via=NAME, by port 1 of the node, which has no other, and
// with "&path=N" behind it by another of the LIDs of that port, or with "&path=all" by all of them.
// The scheme and ":1" may be left out, and the port of SWITCH as in parse_unit_endpoint().
struct PeerPlace {
  Endpoint at;
  std::string node;          // "": there is no switch between
  std::uint32_t path = 0;    // below fabric::kPathsMax, or fabric::kAllPaths
  std::string text() const;  // as one types it
};
base::Result<PeerPlace> parse_peer_place(const std::string& text);

// Without keys, UDP needs --insecure-lab, on loopback too: any user of the machine can send to a
// loopback address or bind it first, and gets what takes CAP_NET_RAW otherwise. The peer of a shm
// endpoint proves its user to the kernel. An error names `option`. [H-5] docs/security.md
base::Status check_lab(bool is_insecure_lab, const std::string& option, const Endpoint& endpoint);

// Six pairs of hex digits with ':' between; an address that one NIC can have (neither group nor
// zero).
base::Result<lan::MacAddress> parse_mac(const std::string& text);
// The same, of any address.
base::Result<lan::MacAddress> parse_any_mac(const std::string& text);
std::string mac_text(const lan::MacAddress& mac);

// [pcap:]IF[,inject=packet|pcap], packet:IF, tap:NAME, file:IN,OUT[,loop][,speed=X]
base::Result<PortSpec> parse_lan_port(const std::string& text);
// NAME or file:IN,OUT[,loop][,speed=X]
base::Result<PortSpec> parse_tap(const std::string& text);
// tun:NAME; returns the name.
base::Result<std::string> parse_tun(const std::string& text);

// Checks for a name that the kernel accepts for an interface, without the '%' that would make it a
// pattern.
bool is_interface_name(std::string_view text);
// Decimal digits only. Returns nothing if the number is above `max`.
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max);
// Returns the number, or the error "--option: 'x' is not a whole number from min to max".
base::Result<std::uint32_t> number_option(const std::string& option, const std::string& text,
                                          std::uint32_t min, std::uint32_t max);

}  // namespace splitnic::control
