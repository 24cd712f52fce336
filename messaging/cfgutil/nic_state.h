// The configuration of a host's NIC, and the digest in the reply to GET_STATE: SHA-256 over the
// fields in this order, lists sorted, integers big endian. Two sides with the same digest have the
// same configuration. docs/protocol/cfgutil.md#digest
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace splitnic::messaging {

struct NicState {
  using Mac = std::array<std::uint8_t, 6>;

  Mac mac{};  // zero: none
  bool promiscuous = false;
  bool all_multicast = false;
  bool no_unicast = false;
  bool no_multicast = false;
  bool no_broadcast = false;
  std::vector<Mac> unicast, multicast;  // any order
  std::vector<std::uint16_t> vlans;     // any order
  std::uint16_t pvid = 0;
  std::uint32_t mtu = 0;
  std::uint64_t offloads = 0;  // feature bits in force

  // Returns the bytes over which the digest is computed.
  std::string bytes() const;
  // Returns 32 bytes.
  std::string digest() const;
};

}  // namespace splitnic::messaging
