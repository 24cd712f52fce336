// The data of CfgUtil requests, and replies with a status, for the cases of cfg and nic.
#pragma once

#include <string>
#include <string_view>

#include "conformance/cases/parts.h"

namespace splitnic::conformance {

// Bit 6 of the features: the virtio-net header.
inline constexpr std::uint64_t kVnet = 1U << 6;

// A message of Protobuf, as set() has filled it, as data.
template <class Message, class Set>
std::string data_of(Set set) {
  Message message;
  set(message);
  return message.SerializeAsString();
}
// Requests with one field.
std::string mac_request(std::string_view mac);
std::string mtu_request(std::uint32_t mtu);
std::string vlan_request(std::uint32_t id);
std::string init_request(std::uint64_t features);

}  // namespace splitnic::conformance
