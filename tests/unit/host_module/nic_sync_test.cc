// The table of CfgUtil steps, row by row, without a connection.
#include "host_module/nic_sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace nic_sync_test {

using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;
using namespace std::chrono_literals;

constexpr lan::MacAddress kMac{0x02, 0, 0, 0, 0, 0x01};
constexpr lan::MacAddress kLanMac{0x02, 0, 0, 0, 0, 0x77};
constexpr base::Time kNow{1000s};

class NicSyncTest : public ::testing::Test {
 protected:
  NicSyncTest() {
    sync.wanted.mac = kMac;
    sync.wanted.mtu = 1500;
    sync.wanted.admin_up = true;
    sync.begin();
  }
  // The code of the step that is due, sent as the owner sends it; none: nothing.
  std::optional<CfgCode> send(base::Time now = kNow) {
    step = next_step(sync, now);
    if (step == nullptr) return std::nullopt;
    sync.on_send(now);
    return step->code;
  }
  SyncEffect reply(CfgStatus status = CfgStatus::kOk, const std::string& data = {}) {
    return step->on_reply(sync, CfgReply{status, data});
  }
  static std::string init_reply() {
    messaging::cfg::InitNicReply reply;
    reply.set_mtu_max(9000);
    reply.mutable_link()->set_up(true);
    reply.set_features_granted(lan::kOffloadChecksum);
    reply.set_mac(kLanMac.data(), kLanMac.size());
    return reply.SerializeAsString();
  }
  // Everything up to the settings, to a unit that knows nothing of us.
  void init_and_compare() {
    ASSERT_EQ(send(), CfgCode::kInitNic);
    reply(CfgStatus::kOk, init_reply());
    ASSERT_EQ(send(), CfgCode::kGetState);
    reply(CfgStatus::kUnknown);
  }
  void acknowledge_all() {
    init_and_compare();
    while (send()) reply();
    sync.phase = SyncPhase::kConfigured;
  }

  NicSync sync;
  const SyncStep* step = nullptr;
};

TEST_F(NicSyncTest, S001_25_each_code_has_one_row) {
  std::set<CfgCode> codes;
  for (const SyncStep& row : sync_steps()) EXPECT_TRUE(codes.insert(row.code).second);
  EXPECT_EQ(codes.size(), 14U);
}

TEST_F(NicSyncTest, S001_25_the_order_of_a_new_connection) {
  std::vector<CfgCode> order;
  for (auto code = send(); code; code = send()) {
    order.push_back(*code);
    reply(CfgStatus::kOk, *code == CfgCode::kInitNic ? init_reply() : std::string());
  }
  EXPECT_EQ(order, (std::vector<CfgCode>{CfgCode::kInitNic, CfgCode::kGetState, CfgCode::kSetMac,
                                         CfgCode::kSetMtu, CfgCode::kSetFilter, CfgCode::kStart}));
}

TEST_F(NicSyncTest, S001_25_nothing_is_due_without_a_connection) {
  sync.phase = SyncPhase::kDisconnected;
  EXPECT_FALSE(send());
  EXPECT_EQ(sync.deadline(), base::kNever);
}

TEST_F(NicSyncTest, S001_25_init_takes_what_the_unit_grants) {
  sync.takes_lan_mac = true;
  ASSERT_EQ(send(), CfgCode::kInitNic);
  const SyncEffect effect = reply(CfgStatus::kOk, init_reply());
  EXPECT_EQ(effect.lan_mac, kLanMac);
  EXPECT_TRUE(effect.is_lan_mtu_known);
  EXPECT_EQ(sync.lan_mtu, 9000U);
  EXPECT_TRUE(sync.lan_link);
  EXPECT_EQ(sync.features, lan::kOffloadChecksum);
  EXPECT_EQ(sync.phase, SyncPhase::kCompare);
}

TEST_F(NicSyncTest, S001_25_a_refused_init_is_due_after_a_second_and_warns_once) {
  ASSERT_EQ(send(), CfgCode::kInitNic);
  EXPECT_TRUE(reply(CfgStatus::kDeviceError).warning);
  EXPECT_FALSE(send(kNow + 999ms));
  EXPECT_EQ(sync.deadline(), kNow + 1s);
  ASSERT_EQ(send(kNow + 1s), CfgCode::kInitNic);
  EXPECT_FALSE(reply(CfgStatus::kDeviceError).warning);
  EXPECT_EQ(sync.deadline(), kNow + 2s);
}

TEST_F(NicSyncTest, S001_25_an_equal_digest_leaves_only_start_or_stop) {
  for (const bool is_up : {true, false}) {
    sync.begin();
    sync.wanted.admin_up = is_up;
    ASSERT_EQ(send(), CfgCode::kInitNic);
    reply(CfgStatus::kOk, init_reply());
    ASSERT_EQ(send(), CfgCode::kGetState);
    messaging::cfg::GetStateReply same;
    same.set_digest(sync.wanted_state().digest());
    reply(CfgStatus::kOk, same.SerializeAsString());
    EXPECT_EQ(send(), is_up ? CfgCode::kStart : CfgCode::kStop);
  }
}

TEST_F(NicSyncTest, S001_08_a_refused_mac_waits_and_the_rest_continues) {
  init_and_compare();
  ASSERT_EQ(send(), CfgCode::kSetMac);
  EXPECT_TRUE(reply(CfgStatus::kNotPermitted).warning);
  EXPECT_EQ(send(), CfgCode::kSetMtu);
  EXPECT_EQ(sync.deadline(), kNow + 1s);
  ASSERT_EQ(send(kNow + 1s), CfgCode::kSetMac);
  EXPECT_FALSE(reply(CfgStatus::kNotPermitted).warning) << "one warning for one address";
  sync.wanted.mac = kLanMac;
  EXPECT_EQ(send(kNow + 1s), CfgCode::kSetMac) << "another address does not wait";
}

TEST_F(NicSyncTest, S001_25_a_grant_below_the_request_is_the_lans_mtu) {
  acknowledge_all();
  const auto granted = [&](std::uint32_t mtu) {
    messaging::cfg::SetMtuReply got;
    got.set_mtu(mtu);
    return reply(CfgStatus::kOk, got.SerializeAsString()).is_lan_mtu_known;
  };
  sync.wanted.mtu = 4000;
  ASSERT_EQ(send(), CfgCode::kSetMtu);
  EXPECT_TRUE(granted(1400));
  EXPECT_EQ(sync.lan_mtu, 1400U);
  EXPECT_FALSE(send()) << "it was replied to";
  sync.wanted.mtu = 1600;
  ASSERT_EQ(send(), CfgCode::kSetMtu);
  EXPECT_TRUE(granted(1600));
  EXPECT_EQ(sync.lan_mtu, 1600U);
  sync.wanted.mtu = 1500;
  ASSERT_EQ(send(), CfgCode::kSetMtu);
  EXPECT_TRUE(granted(1500));
  EXPECT_EQ(sync.lan_mtu, 1600U) << "the LAN has at least what was granted";
}

TEST_F(NicSyncTest, S001_25_each_later_change_brings_its_own_request) {
  acknowledge_all();
  sync.wanted.promiscuous = true;
  ASSERT_EQ(send(), CfgCode::kSetFilter);
  messaging::cfg::SetFilterRequest filter;
  ASSERT_TRUE(filter.ParseFromString(step->encode(sync)));
  EXPECT_TRUE(filter.filter().promiscuous());
  reply();
  EXPECT_FALSE(send());
  sync.is_held_down = true;
  ASSERT_EQ(send(), CfgCode::kStop);
  reply();
  EXPECT_FALSE(send());
  sync.is_held_down = false;
  ASSERT_EQ(send(), CfgCode::kStart);
}

TEST_F(NicSyncTest, S001_25_a_change_while_the_request_is_open_is_sent_after_it) {
  acknowledge_all();
  sync.wanted.mtu = 1400;
  ASSERT_EQ(send(), CfgCode::kSetMtu);
  sync.wanted.mtu = 1300;
  reply();
  EXPECT_EQ(sync.acknowledged.mtu, 1400U);
  EXPECT_EQ(send(), CfgCode::kSetMtu);
}

// An additional queue takes settings of the user also before it is configured.
TEST_F(NicSyncTest, S001_25_a_setting_of_the_user_that_changes_meanwhile_is_sent_after_it) {
  acknowledge_all();
  sync.user.vlans.pvid().set(30, false);
  ASSERT_EQ(send(), CfgCode::kSetPvid);
  sync.user.vlans.pvid().set(31, false);
  reply();
  ASSERT_EQ(send(), CfgCode::kSetPvid);
  EXPECT_EQ(step->encode(sync), std::string("\x08\x1F")) << "VLAN 31";
  reply();
  sync.user.coalescing.set({.microseconds = 50}, false);
  ASSERT_EQ(send(), CfgCode::kSetCoalesce);
  sync.user.coalescing.set({.microseconds = 60}, false);
  EXPECT_FALSE(reply(CfgStatus::kUnknown).warning) << "it is the former one that is refused";
  ASSERT_EQ(send(), CfgCode::kSetCoalesce);
  reply();
  sync.user.queues.set(4, false);
  ASSERT_EQ(send(), CfgCode::kSetQueues);
  sync.user.queues.set(2, false);
  messaging::cfg::SetQueuesReply granted;
  granted.set_queues(4);
  reply(CfgStatus::kOk, granted.SerializeAsString());
  ASSERT_EQ(send(), CfgCode::kSetQueues);
  reply();
  EXPECT_EQ(sync.wanted_state().queues, 2U);
  EXPECT_FALSE(send());
}

TEST_F(NicSyncTest, S001_25_offloads_and_vlans_that_change_meanwhile_are_sent_after_it) {
  acknowledge_all();
  sync.user.offloads_off = lan::kOffloadChecksum;
  ASSERT_EQ(send(), CfgCode::kSetOffloads);
  sync.user.offloads_off = 0;
  reply();
  ASSERT_EQ(send(), CfgCode::kSetOffloads);
  reply();
  sync.user.vlans.set(10, true, false);
  ASSERT_EQ(send(), CfgCode::kVlanAdd);
  sync.user.vlans.set(10, false, false);
  reply();
  ASSERT_EQ(send(), CfgCode::kVlanDel);
  sync.user.vlans.set(10, true, false);
  reply();
  ASSERT_EQ(send(), CfgCode::kVlanAdd);
  reply();
  EXPECT_EQ(sync.user.vlans.list(), std::vector<std::uint16_t>{10});
  EXPECT_FALSE(send());
}

// All VLANs that the user had added on another connection are requested, and those removed
// meanwhile are not.
TEST_F(NicSyncTest, S001_25_vlans_are_requested_on_each_connection) {
  sync.user.vlans.on_added(10);
  sync.user.vlans.on_added(20);
  sync.user.vlans.set(20, false, false);
  sync.user.vlans.pvid().set(30, true);
  sync.begin();
  init_and_compare();
  std::vector<CfgCode> order;
  for (auto code = send(); code; code = send()) {
    order.push_back(*code);
    const std::uint16_t vlan = *code == CfgCode::kVlanAdd ? 10 : 20;
    if (*code == CfgCode::kVlanAdd || *code == CfgCode::kVlanDel) {
      EXPECT_EQ(sync.sent_vlan, vlan);
    }
    reply();
  }
  EXPECT_EQ(order, (std::vector<CfgCode>{CfgCode::kSetMac, CfgCode::kSetMtu, CfgCode::kSetFilter,
                                         CfgCode::kVlanAdd, CfgCode::kVlanDel, CfgCode::kSetPvid,
                                         CfgCode::kStart}));
  EXPECT_EQ(sync.user.vlans.list(), std::vector<std::uint16_t>{10});
}

TEST_F(NicSyncTest, S001_25_a_vlan_that_is_refused_is_not_set_on_this_connection) {
  sync.user.vlans.set(10, true, false);
  sync.user.vlans.pvid().set(30, false);
  acknowledge_all();
  sync.user.vlans.set(11, true, false);
  ASSERT_EQ(send(), CfgCode::kVlanAdd);
  EXPECT_TRUE(reply(CfgStatus::kNotPermitted).warning.has_value());
  sync.user.vlans.pvid().set(31, false);
  ASSERT_EQ(send(), CfgCode::kSetPvid);
  EXPECT_TRUE(reply(CfgStatus::kNotPermitted).warning.has_value());
  EXPECT_EQ(send(), std::nullopt);
  EXPECT_EQ(sync.user.vlans.list(), std::vector<std::uint16_t>{10});
  EXPECT_EQ(sync.user.vlans.pvid().value(), 0);
}

TEST_F(NicSyncTest, S001_49_the_delivery_is_requested_only_if_the_user_has_set_it) {
  acknowledge_all();
  EXPECT_FALSE(send().has_value());
  sync.user.coalescing.set({.microseconds = 50}, true);
  sync.user.qos.set({}, false);
  EXPECT_EQ(send(), CfgCode::kSetQos);
  reply();
  EXPECT_FALSE(send().has_value());
  sync.begin();
  init_and_compare();
  std::vector<CfgCode> order;
  while (const auto code = send()) {
    order.push_back(*code);
    reply();
  }
  EXPECT_EQ(std::ranges::count(order, CfgCode::kSetCoalesce), 1);
  EXPECT_EQ(std::ranges::count(order, CfgCode::kSetQos), 1);
  EXPECT_EQ(std::ranges::count(order, CfgCode::kSetQueues), 0);
}

TEST_F(NicSyncTest, S001_49_a_setting_that_the_unit_refuses_is_not_set_on_this_connection) {
  acknowledge_all();
  sync.user.coalescing.set({.microseconds = 50}, false);
  ASSERT_EQ(send(), CfgCode::kSetCoalesce);
  EXPECT_TRUE(reply(CfgStatus::kUnknown).warning.has_value());
  EXPECT_FALSE(send().has_value());
  EXPECT_EQ(sync.wanted_state().coalescing, messaging::Coalescing{});
}

TEST_F(NicSyncTest, S001_49_fewer_queues_may_be_granted) {
  acknowledge_all();
  sync.user.queues.set(4, false);
  ASSERT_EQ(send(), CfgCode::kSetQueues);
  messaging::cfg::SetQueuesReply granted;
  granted.set_queues(2);
  reply(CfgStatus::kOk, granted.SerializeAsString());
  EXPECT_FALSE(send().has_value());
  EXPECT_EQ(sync.wanted_state().queues, 2U) << "as in the digest of the unit";
}

// Two units in turn: the second refuses everything, and grants one queue of two.
TEST_F(NicSyncTest, S001_25_what_a_unit_refuses_is_requested_of_the_next) {
  const lan::MacAddress other{0x02, 0, 0, 0, 0, 0x99};
  sync.user.vlans.set(10, true, false);
  sync.user.vlans.pvid().set(30, false);
  sync.user.filter.add(other);
  sync.user.coalescing.set({.microseconds = 50}, false);
  sync.user.queues.set(2, false);
  acknowledge_all();
  while (send()) reply();
  const std::string before = sync.wanted_state().digest();
  messaging::cfg::SetQueuesReply one;
  one.set_queues(1);
  for (int round = 0; round < 2; ++round) {
    sync.begin();
    init_and_compare();
    int warnings = 0;
    while (const auto code = send()) {
      const bool is_of_user = *code == CfgCode::kVlanAdd || *code == CfgCode::kSetPvid ||
                              *code == CfgCode::kSetCoalesce ||
                              (*code == CfgCode::kSetFilter && !sync.is_unicast_refused);
      const CfgStatus status = is_of_user ? CfgStatus::kNotPermitted : CfgStatus::kOk;
      const std::string data = *code == CfgCode::kSetQueues ? one.SerializeAsString() : "";
      if (reply(status, data).warning) ++warnings;
    }
    EXPECT_EQ(warnings, round == 0 ? 4 : 0) << "each is reported once";
    EXPECT_EQ(sync.user.vlans.list(), std::vector<std::uint16_t>());
    EXPECT_EQ(sync.user.vlans.refused(), std::vector<std::uint16_t>{10});
    EXPECT_TRUE(sync.filter_at_best().lists.unicast.empty());
    EXPECT_EQ(sync.wanted_state().queues, 1U);
    EXPECT_NE(sync.wanted_state().digest(), before);
  }
  sync.begin();
  init_and_compare();
  while (send()) reply();
  EXPECT_EQ(sync.wanted_state().digest(), before) << "the first unit has all of it again";
}

TEST_F(NicSyncTest, S001_25_vlans_are_part_of_the_digest) {
  acknowledge_all();
  const std::string before = sync.wanted_state().digest();
  sync.user.vlans.on_added(10);
  const std::string listed = sync.wanted_state().digest();
  EXPECT_NE(listed, before);
  sync.begin();
  ASSERT_EQ(send(), CfgCode::kInitNic);
  reply(CfgStatus::kOk, init_reply());
  ASSERT_EQ(send(), CfgCode::kGetState);
  messaging::cfg::GetStateReply got;
  got.set_digest(listed);
  reply(CfgStatus::kOk, got.SerializeAsString());
  EXPECT_EQ(send(), CfgCode::kStart) << "the I/O unit has all of it";
}

TEST_F(NicSyncTest, S001_25_offloads_that_the_user_turned_off) {
  sync.user.offloads_off = lan::kOffloadChecksum;
  init_and_compare();
  std::vector<CfgCode> order;
  for (auto code = send(); code; code = send()) {
    order.push_back(*code);
    reply();
  }
  EXPECT_EQ(std::ranges::count(order, CfgCode::kSetOffloads), 1);
  EXPECT_EQ(sync.offloads_wanted(), 0U);
}

TEST_F(NicSyncTest, S001_25_after_a_reset_everything_is_sent) {
  sync.user.vlans.on_added(10);
  acknowledge_all();
  EXPECT_EQ(send(), std::nullopt);
  sync.begin_settings();
  std::vector<CfgCode> order;
  for (auto code = send(); code; code = send()) {
    order.push_back(*code);
    reply();
  }
  EXPECT_EQ(order, (std::vector<CfgCode>{CfgCode::kSetMac, CfgCode::kSetMtu, CfgCode::kSetFilter,
                                         CfgCode::kVlanAdd, CfgCode::kStart}));
}

}  // namespace nic_sync_test
}  // namespace splitnic::host
