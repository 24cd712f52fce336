// Tests the identity of a host: users of the machine who state the EUI-64 of another.
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::host_id_test {
namespace {

struct HostIdTest : testing::Test {
  HostIdTest() : victim(harness.add_host()), other(harness.add_host()) {}
  void SetUp() override {
    ASSERT_TRUE(harness.attach(victim, mac_number(1)));
    other.eui64 = victim.eui64;
    other.start();
  }

  UnitHarness harness;
  TestHost& victim;
  TestHost& other;
};

TEST_F(HostIdTest, M_8_the_eui64_of_another_user_ends_no_connection) {
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  EXPECT_TRUE(victim.up());
  EXPECT_TRUE(victim.link->up());
  EXPECT_EQ(harness.count("iou.hosts.downs"), 0U);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  ASSERT_TRUE(harness.run_until([&] { return victim.got.size() == 1; }));
  EXPECT_TRUE(other.got.empty());
}

TEST_F(HostIdTest, M_8_settings_that_are_kept_are_of_the_user) {
  const std::string configured = harness.digest(victim);
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  ASSERT_TRUE(harness.connect(other)) << "its former connection is parked";
  ASSERT_TRUE(harness.connect(victim));
  EXPECT_EQ(harness.digest(victim), configured);
}

// The same user: another process of the host takes the place of the one before, once that is dead.
TEST_F(HostIdTest, M_8_B_02_another_process_of_the_user_ends_the_one_before) {
  harness.users->set_user(other.endpoint.address(), 1001);
  EXPECT_FALSE(harness.run_until([&] { return other.link_up(); })) << "both are alive";
  EXPECT_TRUE(victim.up());
  EXPECT_GT(harness.count("iou.hosts.refused_duplicate"), 0U);
  victim.faults.set_cut(true);
  ASSERT_TRUE(harness.attach(other, mac_number(2)));
  EXPECT_GE(harness.count("iou.hosts.downs"), 1U);
}

TEST_F(HostIdTest, M_8_a_user_has_one_budget_of_connections_whatever_it_states) {
  harness.run(10s);
  std::uint64_t attached = 0;
  const base::Time begin = harness.clock.now();
  constexpr std::uint64_t kTries = 60;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    other.eui64 = 0x9000 + i;
    other.start();
    attached += harness.connect(other) ? 1 : 0;
  }
  const auto elapsed = harness.clock.now() - begin;
  const auto earned = static_cast<std::uint64_t>(elapsed / Iou::kAttachIntervalOfLink);
  EXPECT_LE(attached, Iou::kAttachBurstOfLink + earned + 1);
  EXPECT_LT(attached, kTries);
  EXPECT_GT(harness.count("iou.hosts.refused_often"), 0U);
  EXPECT_TRUE(victim.up());
}

TEST(HostIdPartsTest, M_8_a_key_is_its_own_principal_and_a_user_that_of_all_its_hosts) {
  const HostId keyed{fabric::Eui64(5), HostId::Proof::kKey, 0};
  const HostId stated{fabric::Eui64(5), HostId::Proof::kNone, 0};
  const HostId first{fabric::Eui64(5), HostId::Proof::kUser, 1000};
  const HostId second{fabric::Eui64(6), HostId::Proof::kUser, 1000};
  EXPECT_NE(keyed, stated);
  EXPECT_EQ(keyed.principal(), keyed);
  EXPECT_EQ(stated.principal(), stated);
  EXPECT_NE(first, second);
  EXPECT_EQ(first.principal(), second.principal());
  EXPECT_NE(first.principal(), (HostId{fabric::Eui64(), HostId::Proof::kUser, 1001}));
  const HostId node{fabric::Eui64(5), HostId::Proof::kNode, 1000};
  EXPECT_EQ(node.principal(), (HostId{fabric::Eui64(7), HostId::Proof::kNode, 1000}.principal()));
  EXPECT_NE(node.principal(), first.principal());
}

}  // namespace
}  // namespace splitnic::iou::harness::host_id_test
