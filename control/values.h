// The values that people type, as types: addresses, ports, MACs, pool shapes. Parsing only: no name
// is looked up, no file opened. Errors are one sentence that quotes what was typed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace splitnic::control {

// An IPv4 address uses bytes[0..4); an IPv4-mapped IPv6 address is the IPv4 address.
struct IpAddress {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};
  bool is_loopback() const;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};
std::optional<IpAddress> parse_ip(std::string_view text);

// udp://ADDRESS:PORT, udp://[V6]:PORT, udp://[V6%ZONE]:PORT, udp://NAME:PORT, shm://NAME
struct Endpoint {
  enum class Kind : std::uint8_t { kUdp, kShm };
  Kind kind = Kind::kUdp;
  std::string host;             // address (with its zone, without brackets) or name; shm: the name
  std::uint16_t port = 0;       // udp: never 0
  std::optional<IpAddress> ip;  // none: shm, or a name to be resolved
  std::string zone;             // of a link-local address
  bool is_name() const { return kind == Kind::kUdp && !ip; }
  // Loopback and shm: traffic that never leaves the machine.
  bool is_local() const;
  std::string text() const;  // as one types it
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
base::Result<Endpoint> parse_endpoint(const std::string& text);

// 192.0.2.0/24, fd00::/8; an address alone is the whole of it. Bits behind the prefix must be zero.
struct Cidr {
  IpAddress network;
  unsigned prefix_bits = 0;
  bool contains(const IpAddress& address) const;
  friend bool operator==(const Cidr&, const Cidr&) = default;
};
base::Result<Cidr> parse_cidr(const std::string& text);

using MacBytes = std::array<std::uint8_t, 6>;
// Six pairs of hex digits with ':' between; an address that one NIC can have (neither group nor
// zero).
base::Result<MacBytes> parse_mac(const std::string& text);
std::string mac_text(const MacBytes& mac);

struct PoolShape {
  std::uint32_t count = 0;
  std::uint32_t size = 0;  // bytes of an element
  friend bool operator==(const PoolShape&, const PoolShape&) = default;
};
inline constexpr std::uint32_t kElementBytesMin = 64;
inline constexpr std::uint32_t kElementBytesMax = 65536;      // what idata can say
inline constexpr std::uint32_t kPoolElementsMax = 256 * 256;  // of all pools: 256 references of 256
base::Result<PoolShape> parse_pool(const std::string& text);  // COUNTxSIZE

// Where frames come from and go to.
struct PortSpec {
  enum class Kind : std::uint8_t { kPcap, kPacket, kTap, kFile };
  Kind kind = Kind::kPcap;
  std::string text;        // as typed
  std::string interface;   // pcap, packet, tap
  std::string input;       // file; one of the two may be empty
  std::string output;      // file
  bool is_looped = false;  // file: ",loop"
  double speed = 0;        // file: ",speed=X"; 0: as fast as it is read
  friend bool operator==(const PortSpec&, const PortSpec&) = default;
};
// pcap:IF or bare IF, packet:IF, tap:NAME, file:IN,OUT[,loop][,speed=X]
base::Result<PortSpec> parse_lan_port(const std::string& text);
// NAME or file:IN,OUT[,loop][,speed=X]
base::Result<PortSpec> parse_tap(const std::string& text);

// What the kernel takes as an interface name, without the '%' that would make it a pattern.
bool is_interface_name(std::string_view text);
// [A-Za-z0-9._-]{1,64}, not beginning with a dot: safe as part of a path.
bool is_node_name(std::string_view text);
// Decimal digits only; nothing if it does not fit below or at `max`.
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max);

}  // namespace splitnic::control
