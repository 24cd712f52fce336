// Addresses and frames for tests of the I/O unit.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/endian.h"
#include "lan_bridge/frame/ethernet.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::iou::harness {

using Frame = std::vector<std::byte>;

inline constexpr lan::MacAddress kPeer{0x02, 0, 0, 0, 0, 0x99};
inline constexpr lan::MacAddress kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
inline lan::MacAddress mac_number(std::uint8_t n) { return {0x02, 0, 0, 0, 1, n}; }

// [vnet header, all 0][destination][source][tag, if any][0x88B5][number, 4][zeros]
inline Frame frame_of(const lan::MacAddress& to, const lan::MacAddress& from,
                      std::uint32_t number = 0, std::uint16_t vlan = 0, std::size_t bytes = 100) {
  Frame frame(lan::kVnetHeaderBytes);
  for (const lan::MacAddress& mac : {to, from}) {
    for (const std::uint8_t byte : mac) frame.push_back(static_cast<std::byte>(byte));
  }
  const auto put = [&]<class T>(T value) {
    frame.resize(frame.size() + sizeof(T));
    base::store_be(frame.data() + frame.size() - sizeof(T), value);
  };
  if (vlan != 0) {
    put(std::uint16_t{0x8100});
    put(vlan);
  }
  put(std::uint16_t{0x88B5});
  put(number);
  frame.resize(std::max(bytes, frame.size()));
  return frame;
}

inline std::string bytes(const lan::MacAddress& mac) { return {mac.begin(), mac.end()}; }

}  // namespace splitnic::iou::harness
