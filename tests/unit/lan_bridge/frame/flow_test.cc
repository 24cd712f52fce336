#include "lan_bridge/frame/flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/unit/lan_bridge/frame_builder.h"

namespace splitnic::lan::flow_test {
namespace {

using frame_builder::Bytes;
using frame_builder::make_frame;
using frame_builder::Spec;

constexpr std::size_t kIp = VnetHeader::kBytes + kEthernetBytes;

TEST(FlowTest, frames_of_a_flow_are_of_one_flow) {
  for (const bool is_ip6 : {false, true}) {
    for (const bool is_udp : {false, true}) {
      const Spec spec{.is_ip6 = is_ip6, .is_udp = is_udp};
      Spec other = spec;
      other.payload_bytes = 1200;
      other.seed = 9;
      other.tcp_option_bytes = 0;
      other.tcp_flags = 0x10;
      other.gso_size = 500;
      const std::uint32_t flow = flow_of(make_frame(spec));
      EXPECT_EQ(flow_of(make_frame(other)), flow);
      other.tags = {5};  // the LAN side may take a tag out or put one in
      EXPECT_EQ(flow_of(make_frame(other)), flow);
    }
  }
}

TEST(FlowTest, another_byte_that_counts_is_another_flow) {
  for (const bool is_ip6 : {false, true}) {
    const Bytes frame = make_frame({.is_ip6 = is_ip6, .is_udp = true});
    const std::size_t addresses = kIp + (is_ip6 ? 8 : 12);
    const std::size_t end = kIp + (is_ip6 ? 40 : 20) + 4;
    std::set<std::uint32_t> flows{flow_of(frame)};
    std::size_t changes = 0;
    const auto change = [&](std::size_t from, std::size_t to) {
      for (std::size_t at = from; at < to; ++at, ++changes) {
        Bytes changed = frame;
        changed[at] ^= std::byte{1};
        flows.insert(flow_of(changed));
      }
    };
    change(VnetHeader::kBytes, VnetHeader::kBytes + 12);  // MAC addresses
    change(addresses, end);                               // IP addresses and ports
    EXPECT_EQ(flows.size(), changes + 1);
  }
  EXPECT_NE(flow_of(make_frame({.is_udp = true})), flow_of(make_frame({.is_udp = false})));
}

// Only the first fragment has ports: it is of the same flow as the others.
TEST(FlowTest, fragments_go_together_whatever_they_carry) {
  Bytes first = make_frame({.is_udp = true, .payload_bytes = 64});
  Bytes last = first;
  first[kIp + 6] = std::byte{0x20};  // more fragments
  last[kIp + 6] = std::byte{0x00};
  last[kIp + 7] = std::byte{0x09};  // an offset
  for (std::size_t at = kIp + 20; at < last.size(); ++at) last[at] = std::byte{0x5A};
  EXPECT_EQ(flow_of(first), flow_of(last));
  Bytes whole = first;
  whole[kIp + 6] = std::byte{0x40};
  EXPECT_NE(flow_of(whole), flow_of(first));
}

TEST(FlowTest, what_is_not_ip_goes_by_its_addresses_and_type) {
  Bytes arp(60 + VnetHeader::kBytes, std::byte{2});
  arp[VnetHeader::kBytes + 12] = std::byte{0x08};
  arp[VnetHeader::kBytes + 13] = std::byte{0x06};
  Bytes other = arp;
  other.back() = std::byte{3};
  EXPECT_EQ(flow_of(arp), flow_of(other));
  other[VnetHeader::kBytes + 13] = std::byte{0x07};
  EXPECT_NE(flow_of(arp), flow_of(other));
}

TEST(FlowTest, any_length_and_any_bytes_are_taken) {
  const Bytes frame = make_frame({.is_ip6 = true, .tags = {1, 2}, .has_destination_options = true});
  for (std::size_t bytes = 0; bytes <= frame.size(); ++bytes) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes));
    const std::uint32_t flow = flow_of(cut);
    EXPECT_EQ(flow == 0, bytes < kIp + 2 * kVlanTagBytes) << bytes;
    Bytes others_behind(frame.size(), std::byte{0xFF});
    std::ranges::copy(cut, others_behind.begin());
    EXPECT_EQ(flow_of(base::Bytes(others_behind).first(bytes)), flow) << bytes;
  }
  base::SeededRandom random(3);
  for (int i = 0; i < 2000; ++i) {
    Bytes noise = frame;
    for (int k = 0; k < 8; ++k) noise[random.below(noise.size())] = std::byte{0xFF};
    static_cast<void>(flow_of(noise));
  }
}

TEST(FlowTest, ports_in_a_row_are_spread_over_all_queues) {
  std::array<int, 8> of_queue{};
  for (std::uint16_t port = 1000; port < 2600; ++port) {
    const std::uint64_t flow = flow_of(make_frame({.port = port}));
    ++of_queue.at((flow * 8) >> 32);
  }
  for (const int count : of_queue) {
    EXPECT_GT(count, 140);
    EXPECT_LT(count, 260);
  }
}

}  // namespace
}  // namespace splitnic::lan::flow_test
