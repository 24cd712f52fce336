// The requests of the host to a remote NIC that knows it, or does not.
#include "tests/support/log_lines.h"
#include "tests/unit/host_module/nic_config_fixture.h"

namespace splitnic::host {
namespace nic_config_test {

class NicConfigTest : public NicConfigFixture {};

TEST_F(NicConfigTest, S001_25_what_the_unit_has_is_not_repeated) {
  configure();
  EXPECT_EQ(asked(CfgCode::kInitNic), 1);
  EXPECT_EQ(asked(CfgCode::kGetState), 1);
  EXPECT_EQ(asked_settings(), 0);
  EXPECT_EQ(asked(CfgCode::kStart), 1);  // not part of the digest
  EXPECT_TRUE(tap_.carrier);
}

TEST_F(NicConfigTest, S001_25_what_differs_is_sent) {
  known_.mtu = 1400;
  configure();
  EXPECT_EQ(asked(CfgCode::kSetMtu), 1);
  EXPECT_EQ(asked(CfgCode::kStart), 1);
}

TEST_F(NicConfigTest, S001_25_a_unit_without_the_digest_gets_everything) {
  unit_knows_state_ = false;
  configure();
  EXPECT_EQ(asked_settings(), 3);
}

// Clause P-CFG-13: a unit of another make may grant fewer than the interface has.
TEST_F(NicConfigTest, S001_25_the_interface_uses_only_offloads_that_the_unit_grants) {
  configure();
  EXPECT_EQ(tap_.offloads_set, kGranted);
  ASSERT_TRUE(nic_.set_offloads_off(lan::kOffloadTso4, true));
  EXPECT_EQ(tap_.offloads_set, std::uint32_t{lan::kOffloadChecksum});
  ASSERT_TRUE(nic_.set_offloads_off(0, true));
  EXPECT_EQ(tap_.offloads_set, kGranted);
}

TEST_F(NicConfigTest, S001_25_an_interface_stays_as_it_is_if_the_unit_grants_all) {
  granted_ = tap_.offloads();
  configure();
  EXPECT_EQ(tap_.offloads_set, std::nullopt) << "its user may have turned some off";
}

TEST_F(NicConfigTest, S001_25_an_interface_that_is_down_is_stopped_there) {
  tap_.mutable_state().admin_up = false;
  nic_.on_tap_state(harness_.clock.now());
  configure();
  EXPECT_EQ(asked(CfgCode::kStop), 1);  // the unit may have it started from before
  EXPECT_EQ(asked(CfgCode::kStart), 0);
}

TEST_F(NicConfigTest, S001_25_the_interface_has_the_lans_mtu_both_ways) {
  configure();
  run_pumped(InterfaceFollower::kFollowInterval);  // its carrier came on just now
  lan_has_mtu(1300);
  EXPECT_EQ(mtu(), 1300U);
  run_pumped(InterfaceFollower::kFollowInterval);
  lan_has_mtu(9000);
  EXPECT_EQ(mtu(), 9000U);
}

TEST_F(NicConfigTest, S001_25_what_the_user_set_is_the_most) {
  configure();
  run_pumped(InterfaceFollower::kFollowInterval);
  user_sets_mtu(1400);
  lan_has_mtu(1300);
  EXPECT_EQ(mtu(), 1300U);
  run_pumped(InterfaceFollower::kFollowInterval);
  lan_has_mtu(9000);
  EXPECT_EQ(mtu(), 1400U);
}

// The configuration file was read again.
TEST_F(NicConfigTest, B_04_an_mtu_that_is_no_longer_given_leaves_the_lans) {
  configure();
  run_pumped(InterfaceFollower::kFollowInterval);
  user_sets_mtu(1400);
  nic_.set_wanted_mtu(1400, harness_.clock.now());
  lan_has_mtu(9000);
  run_pumped(InterfaceFollower::kFollowInterval);
  EXPECT_EQ(mtu(), 1400U);
  nic_.set_wanted_mtu(std::nullopt, harness_.clock.now());
  run_pumped(InterfaceFollower::kFollowInterval);
  EXPECT_EQ(mtu(), 9000U);
}

// It had it before, from the LAN.
TEST_F(NicConfigTest, B_04_an_mtu_that_is_given_now_stays_when_the_lan_has_more) {
  configure();
  run_pumped(InterfaceFollower::kFollowInterval);
  nic_.set_wanted_mtu(1500, harness_.clock.now());
  lan_has_mtu(9000);
  run_pumped(InterfaceFollower::kFollowInterval);
  EXPECT_EQ(mtu(), 1500U);
}

// After kill -9 the interface is found as it was left. The LAN has 1500.
TEST_F(NicConfigTest, S001_25_an_mtu_that_was_only_the_lans_is_not_taken_for_the_users) {
  lan_mtu_ = tap_.mutable_state().mtu = 9000;
  NicConfig& again = make_nic({"host"});
  configure(again);
  harness_.run_for(InterfaceFollower::kFollowInterval);
  lan_has_mtu(again, 1400);
  EXPECT_EQ(mtu(), 1400U);
  harness_.run_for(InterfaceFollower::kFollowInterval);
  lan_has_mtu(again, 9216);
  EXPECT_EQ(mtu(), 9216U);
}

TEST_F(NicConfigTest, S001_25_an_mtu_below_the_lans_on_an_interface_that_was_there_is_the_users) {
  lan_mtu_ = 9000;
  tap_.mutable_state().mtu = 1400;
  NicConfig& again = make_nic({"host"});
  configure(again);
  harness_.run_for(InterfaceFollower::kFollowInterval);
  lan_has_mtu(again, 9216);
  EXPECT_EQ(mtu(), 1400U);
}

TEST_F(NicConfigTest, S001_08_a_refused_address_is_asked_for_again) {
  known_.mtu = 1400;  // so that all is sent
  refuses_mac_ = true;
  configure();
  EXPECT_EQ(asked(CfgCode::kSetMac), 1);
  refuses_mac_ = false;  // its owner has left
  EXPECT_NE(nic_.deadline(), base::kNever);
  harness_.run_until([this] { return harness_.clock.now() >= nic_.deadline(); });
  nic_.pump(harness_.clock.now());
  harness_.run_for(std::chrono::milliseconds(10));
  EXPECT_EQ(asked(CfgCode::kSetMac), 2);
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

// Its owner takes the address back while the request is open: there is nothing to ask again.
TEST_F(NicConfigTest, S001_08_an_address_that_is_not_wanted_any_more_is_not_asked_for_again) {
  configure();
  refuses_mac_ = true;
  user_sets_mac({0x02, 0, 0, 0, 0, 0x02});
  user_sets_mac(kMac);
  run_pumped(10ms);
  EXPECT_EQ(asked(CfgCode::kSetMac), 1);
  EXPECT_EQ(nic_.deadline(), base::kNever);
  run_pumped(3s);
  EXPECT_EQ(asked(CfgCode::kSetMac), 1);
}

TEST_F(NicConfigTest, S001_25_a_refused_init_is_repeated_once_per_second_and_logged_once) {
  refuses_init_ = true;
  ASSERT_TRUE(harness_.connect());
  ::testing::internal::CaptureStderr();
  nic_.on_pair_up(*harness_.host().pair, harness_.clock.now());
  base::Time asked_at = harness_.clock.now();
  for (int tries = 1; tries <= 5; ++tries) {
    run_pumped(900ms);
    EXPECT_EQ(asked(CfgCode::kInitNic), tries);
    EXPECT_EQ(nic_.deadline(), asked_at + 1s);
    harness_.run_until([&] { return harness_.clock.now() >= nic_.deadline(); });
    asked_at = harness_.clock.now();
    nic_.pump(asked_at);
  }
  refuses_init_ = false;
  run_pumped(2s);
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::size_t line = log.find("refused INIT_NIC");
  EXPECT_NE(line, std::string::npos);
  EXPECT_EQ(log.find("refused INIT_NIC", line + 1), std::string::npos) << log;
  EXPECT_TRUE(nic_.configured());
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

TEST_F(NicConfigTest, S001_25_nothing_is_due_while_the_pair_is_not_up) {
  EXPECT_EQ(nic_.deadline(), base::kNever);
  known_.mtu = 1400;  // so that all is sent
  refuses_mac_ = true;
  for (const bool is_init_refused : {true, false}) {
    refuses_init_ = is_init_refused;
    ASSERT_TRUE(harness_.connect());
    nic_.on_pair_up(*harness_.host().pair, harness_.clock.now());
    run_pumped(10ms);
    EXPECT_GT(nic_.deadline(), harness_.clock.now());
    EXPECT_NE(nic_.deadline(), base::kNever);
    harness_.host().pair->begin_close();
    EXPECT_EQ(nic_.deadline(), base::kNever) << "it is not notified yet";
    nic_.on_pair_down(harness_.clock.now());
    EXPECT_EQ(nic_.deadline(), base::kNever);
  }
}

// Requests of others take all that may be open, and the peer replies to none: that is waited for.
TEST_F(NicConfigTest, S001_25_nothing_is_due_while_no_request_may_be_opened) {
  refuses_init_ = true;
  ASSERT_TRUE(harness_.connect());
  messaging::ChannelPair& pair = *harness_.host().pair;
  nic_.on_pair_up(pair, harness_.clock.now());
  run_pumped(10ms);
  refuses_init_ = false;
  harness_.run_until([&] { return harness_.clock.now() >= nic_.deadline(); });
  harness_.unit().polls = false;
  while (pair.request(CfgCode::kEcho, "x", [](const CfgReply&) {})) {
  }
  nic_.pump(harness_.clock.now());
  EXPECT_EQ(nic_.deadline(), base::kNever);
  harness_.unit().polls = true;
  run_pumped(3s);
  EXPECT_EQ(asked(CfgCode::kInitNic), 2);
  EXPECT_TRUE(nic_.configured());
}

// A bridge takes the interface, and the unit does not grant promiscuous mode.
TEST_F(NicConfigTest, H_2_refused_promiscuous_mode_is_reported_once_and_all_else_works) {
  refuses_promiscuous_ = true;
  tap_.mutable_state().promiscuous = true;
  nic_.on_tap_state(harness_.clock.now());
  ::testing::internal::CaptureStderr();
  configure();
  EXPECT_TRUE(tap_.carrier);
  EXPECT_EQ(asked(CfgCode::kStart), 1);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 1);
  run_pumped(25s);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 3) << "again after 10 and 20 s";
  EXPECT_LE(nic_.deadline(), harness_.clock.now() + 10s);
  configure();  // another connection
  run_pumped(1s);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with("promiscuous", log), 1U) << log;
  EXPECT_NE(log.find("--grant sniff,forge"), std::string::npos) << log;
  refuses_promiscuous_ = false;  // the user of the unit has granted it
  run_pumped(11s);
  const int granted = asked(CfgCode::kSetFilter);
  run_pumped(60s);
  EXPECT_EQ(asked(CfgCode::kSetFilter), granted);
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

TEST_F(NicConfigTest, H_2_promiscuous_mode_that_was_refused_ends_without_an_error) {
  refuses_promiscuous_ = true;
  tap_.mutable_state().promiscuous = true;
  configure();
  tap_.mutable_state().promiscuous = false;
  nic_.on_tap_state(harness_.clock.now());
  run_pumped(60s);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 2);
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

// A macvlan over the interface, whose kernel then has it promiscuous.
TEST_F(NicConfigTest, S001_25_the_lists_of_the_kernel_are_followed) {
  lan::AddressLists kernel;
  kernel.promiscuity = 0;
  int times_read = 0;
  NicConfig& nic = make_nic({.node_name = "host", .lists = [&] {
                               ++times_read;
                               return kernel;
                             }});
  const auto run_nic = [&](base::Duration span) {
    for (const base::Time end = harness_.clock.now() + span; harness_.clock.now() < end;) {
      nic.pump(harness_.clock.now());
      harness_.run_for(5ms);
    }
  };
  configure(nic);
  EXPECT_LE(nic.deadline(), harness_.clock.now() + NicConfig::kListsInterval);
  kernel.unicast = {kMac};
  kernel.promiscuity = 1;
  tap_.mutable_state().promiscuous = true;
  nic.on_tap_state(harness_.clock.now());
  run_nic(10ms);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 1) << "it is read at once";
  EXPECT_EQ(nic.sync().filter_permitted({}).lists.unicast, kernel.unicast);
  EXPECT_FALSE(nic.sync().filter_permitted({}).promiscuous);
  kernel.unicast.push_back({0x02, 0, 0, 0, 0, 0x02});  // no event
  run_nic(NicConfig::kListsInterval + 50ms);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 2);
  times_read = 0;
  run_nic(10s);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 2);
  EXPECT_NEAR(times_read, 40, 2);
}

// The kernel does not reply, or its dump was interrupted.
TEST_F(NicConfigTest, S001_25_lists_that_cannot_be_read_stay_as_they_were) {
  std::optional<lan::AddressLists> kernel;
  kernel.emplace().unicast = {kMac};
  kernel->promiscuity = 1;
  NicConfig& nic = make_nic({.node_name = "host", .lists = [&] { return kernel; }});
  configure(nic);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 1);
  kernel.reset();
  run_pumped(nic, 1s);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 1) << "no address is withdrawn";
  EXPECT_EQ(nic.sync().listed.unicast, std::vector<lan::MacAddress>{kMac});
  kernel.emplace().promiscuity = 0;
  run_pumped(nic, 1s);
  EXPECT_EQ(asked(CfgCode::kSetFilter), 2) << "the list ended";
}

// Netlink reports every interface of the namespace. A macvlan and a bridge have this one
// promiscuous, which no event of it reports.
TEST_F(NicConfigTest, H_2_events_of_other_interfaces_neither_repeat_a_refusal_nor_read_the_lists) {
  lan::AddressLists kernel;
  kernel.promiscuity = 1;
  int times_read = 0;
  NicConfig& nic = make_nic({.node_name = "host", .lists = [&] {
                               ++times_read;
                               return kernel;
                             }});
  refuses_promiscuous_ = true;
  const support::LogLines log;
  configure(nic);
  run_pumped(nic, 1s);
  times_read = 0;
  for (int i = 0; i < 3000; ++i) {
    nic.on_tap_state(harness_.clock.now());
    run_pumped(nic, 10ms);
  }
  EXPECT_EQ(lines_with("promiscuous mode", log.text()), 1U);
  EXPECT_NEAR(times_read, 120, 10);
  EXPECT_LE(asked(CfgCode::kSetFilter), 1 + 1 + 3) << "every 10 s";
}

TEST_F(NicConfigTest, H_2_a_refusal_is_reported_again_after_its_cause_has_ended) {
  lan::AddressLists kernel;
  kernel.promiscuity = 1;
  NicConfig& nic = make_nic({.node_name = "host", .lists = [&] { return kernel; }});
  refuses_promiscuous_ = true;
  const support::LogLines log;
  configure(nic);
  run_pumped(nic, 1s);
  kernel.promiscuity = 0;
  run_pumped(nic, 15s);
  kernel.promiscuity = 1;
  run_pumped(nic, 1s);
  EXPECT_EQ(lines_with("promiscuous mode", log.text()), 2U);
}

TEST_F(NicConfigTest, M_2_a_busy_unit_gets_the_request_again) {
  unit_knows_state_ = false;
  busy_replies_ = 3;
  ASSERT_TRUE(harness_.connect());
  const base::Time begin = harness_.clock.now();
  nic_.on_pair_up(*harness_.host().pair, begin);
  int waits = 0;
  while (!nic_.configured() && harness_.clock.now() < begin + 5s) {
    nic_.pump(harness_.clock.now());
    harness_.run_for(1ms);
    if (nic_.deadline() == base::kNever) continue;
    ASSERT_LE(nic_.deadline(), harness_.clock.now() + NicConfig::kBusyFor);
    ++waits;
  }
  EXPECT_GT(waits, 0) << "it has to be called when the time is over";
  EXPECT_TRUE(nic_.configured());
  EXPECT_GE(harness_.clock.now() - begin, 3 * NicConfig::kBusyFor);
  EXPECT_EQ(asked_settings() + asked(CfgCode::kStart), 4 + 3);
}

}  // namespace nic_config_test
}  // namespace splitnic::host
