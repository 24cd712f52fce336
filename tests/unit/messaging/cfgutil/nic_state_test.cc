// The GET_STATE digest: golden bytes and digests, computed with another implementation of SHA-256.
#include "messaging/cfgutil/nic_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace splitnic::messaging::nic_state_test {
namespace {

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

NicState configured() {
  NicState state;
  state.mac = {2, 0, 0, 0, 0, 1};
  state.all_multicast = true;
  state.unicast = {{2, 0, 0, 0, 0, 3}, {2, 0, 0, 0, 0, 2}};
  state.multicast = {{1, 0, 0x5E, 0, 0, 1}};
  state.vlans = {100, 7};
  state.pvid = 1;
  state.mtu = 1500;
  state.offloads = 0x5F;
  return state;
}

TEST(NicState, golden_bytes_and_digest) {
  EXPECT_EQ(hex(configured().bytes()),
            "020000000001"
            "02"
            "00000002020000000002020000000003"
            "0000000101005e000001"
            "0000000200070064"
            "0001"
            "000005dc"
            "000000000000005f");
  EXPECT_EQ(hex(configured().digest()),
            "410af0e72278bbbd7a1105dc5549dd6ecbba16b1a1c4dfa5e46d1a8fed695c60");
  EXPECT_EQ(NicState{}.bytes(), std::string(33, '\0'));
  EXPECT_EQ(hex(NicState{}.digest()),
            "7f9c9e31ac8256ca2f258583df262dbc7d6f68f2a03043d5c99a4ae5a7396ce9");
}

TEST(NicState, P_CFG_21_delivery_is_there_only_if_it_is_set) {
  NicState state = configured();
  const std::string without = state.bytes();
  state.queues = 2;
  state.coalescing = {50, 16, 9000, true};
  state.qos.priorities[5] = 3;
  ASSERT_EQ(state.bytes().size(), 144U);
  EXPECT_EQ(state.bytes().substr(0, without.size()), without);
  EXPECT_EQ(hex(state.digest()),
            "3dff718270258d871b2046a55fa2b39be31fe1f2ba707b2450bc7d8767d04388");
}

TEST(NicState, the_order_of_lists_does_not_matter_and_every_field_does) {
  const std::string digest = configured().digest();
  NicState state = configured();
  std::swap(state.unicast[0], state.unicast[1]);
  std::swap(state.vlans[0], state.vlans[1]);
  EXPECT_EQ(state.digest(), digest);
  const auto differs = [&](auto change) {
    NicState other = configured();
    change(other);
    return other.digest() != digest;
  };
  EXPECT_TRUE(differs([](NicState& s) { s.mac[5] = 9; }));
  EXPECT_TRUE(differs([](NicState& s) { s.promiscuous = true; }));
  EXPECT_TRUE(differs([](NicState& s) { s.all_multicast = false; }));
  EXPECT_TRUE(differs([](NicState& s) { s.no_unicast = true; }));
  EXPECT_TRUE(differs([](NicState& s) { s.no_multicast = true; }));
  EXPECT_TRUE(differs([](NicState& s) { s.no_broadcast = true; }));
  EXPECT_TRUE(differs([](NicState& s) { s.unicast.pop_back(); }));
  EXPECT_TRUE(differs([](NicState& s) { s.multicast.clear(); }));
  EXPECT_TRUE(differs([](NicState& s) { s.vlans.push_back(9); }));
  EXPECT_TRUE(differs([](NicState& s) { s.pvid = 0; }));
  EXPECT_TRUE(differs([](NicState& s) { s.mtu = 9000; }));
  EXPECT_TRUE(differs([](NicState& s) { s.offloads = 0; }));
  EXPECT_TRUE(differs([](NicState& s) { s.queues = 1; }));
  EXPECT_TRUE(differs([](NicState& s) { s.coalescing.microseconds = 1; }));
  EXPECT_TRUE(differs([](NicState& s) { s.coalescing.frames = 1; }));
  EXPECT_TRUE(differs([](NicState& s) { s.coalescing.bytes = 1; }));
  EXPECT_TRUE(differs([](NicState& s) { s.coalescing.is_adaptive = true; }));
  EXPECT_TRUE(differs([](NicState& s) { s.qos.priorities[0] = 1; }));
  EXPECT_TRUE(differs([](NicState& s) { s.qos.code_points[46] = 1; }));
}

}  // namespace
}  // namespace splitnic::messaging::nic_state_test
