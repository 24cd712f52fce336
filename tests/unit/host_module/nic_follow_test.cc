// The interface as the remote NIC is, whatever the unit reports and does.
#include <vector>

#include "base/event_log.h"
#include "tests/unit/host_module/nic_config_fixture.h"

namespace splitnic::host {
namespace nic_config_test {

class NicFollowTest : public NicConfigFixture {};

// A hostile unit reports another state of its LAN all the time.
TEST_F(NicFollowTest, M_20_the_interface_follows_ten_times_per_second_and_to_the_newest_state) {
  configure();
  run_pumped(1s);
  const std::uint64_t mtus = tap_.mtu_calls;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    lan_has_mtu(1300 + i % 100);
    run_pumped(1ms);
  }
  EXPECT_LE(tap_.mtu_calls - mtus, 11U);
  EXPECT_GE(tap_.mtu_calls - mtus, 9U);
  lan_has_mtu(1443);
  lan_has_mtu(1444);
  EXPECT_LE(nic_.deadline(), harness_.clock.now() + InterfaceFollower::kFollowInterval);
  run_pumped(InterfaceFollower::kFollowInterval);
  EXPECT_EQ(mtu(), 1444U);
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

// The port has read his event when the MTU of the LAN becomes another one, and nobody has asked it.
TEST_F(NicFollowTest, an_mtu_that_the_user_sets_together_with_the_lan_stays) {
  configure();
  lan_has_mtu(9000);
  run_pumped(1s);
  ASSERT_EQ(mtu(), 9000U);
  tap_.mutable_state().mtu = 1400;
  lan_has_mtu(1500);
  run_pumped(1s);
  EXPECT_EQ(mtu(), 1400U);
  lan_has_mtu(1300);
  run_pumped(1s);
  EXPECT_EQ(mtu(), 1300U);
}

TEST_F(NicFollowTest, M_20_the_carrier_follows_ten_times_per_second) {
  configure();
  run_pumped(1s);
  const std::uint64_t carriers = tap_.carrier_calls;
  for (int i = 0; i < 1001; ++i) {
    lan_has_link(i % 2 != 0);
    run_pumped(1ms);
  }
  EXPECT_LE(tap_.carrier_calls - carriers, 12U);
  run_pumped(InterfaceFollower::kFollowInterval);
  EXPECT_FALSE(tap_.carrier);
}

TEST_F(NicFollowTest, M_20_the_speed_follows_ten_times_per_second) {
  configure();
  run_pumped(1s);
  const std::uint64_t speeds = tap_.speed_calls;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    lan_has_link(true, 1000 + i % 2 * 1500);
    run_pumped(1ms);
  }
  EXPECT_LE(tap_.speed_calls - speeds, 11U);
  EXPECT_GE(tap_.speed_calls - speeds, 5U);
}

TEST_F(NicFollowTest, B_09_a_link_that_is_set_down_has_no_carrier) {
  configure();
  run_pumped(1s);
  ASSERT_TRUE(nic_.has_carrier());
  const std::uint64_t first = base::events().next();
  nic_.set_started(false, harness_.clock.now());
  EXPECT_FALSE(tap_.carrier) << "at once";
  run_pumped(1s);
  EXPECT_FALSE(nic_.has_carrier());
  nic_.set_started(true, harness_.clock.now());
  run_pumped(2 * InterfaceFollower::kFollowInterval);
  EXPECT_TRUE(tap_.carrier);
  lan_has_mtu(1400);
  run_pumped(2 * InterfaceFollower::kFollowInterval);
  user_sets_mac({0x02, 0, 0, 0, 0, 0x77});
  std::vector<base::EventKind> kinds;
  for (const auto& event : base::events().since(first, 100).events) {
    kinds.push_back(event->topic.kind);
    EXPECT_EQ(event->topic.about, tap_.name());
  }
  using enum base::EventKind;
  EXPECT_EQ(kinds, (std::vector{kCarrierOff, kCarrierOn, kMtu, kMac}));
}

// A hostile unit ends the link and completes the next handshake at once.
TEST_F(NicFollowTest, M_20_a_link_that_flaps_moves_the_carrier_ten_times_per_second) {
  configure();
  run_pumped(1s);
  const std::uint64_t carriers = tap_.carrier_calls;
  for (int i = 0; i < 1000; ++i) {
    nic_.on_link_lost(harness_.clock.now());
    nic_.on_link_back();
    run_pumped(1ms);
  }
  EXPECT_LE(tap_.carrier_calls - carriers, 12U);
  EXPECT_GE(tap_.carrier_calls - carriers, 8U);
  run_pumped(2 * InterfaceFollower::kFollowInterval);
  EXPECT_TRUE(tap_.carrier);
  run_pumped(1s);
  nic_.on_link_lost(harness_.clock.now());
  EXPECT_FALSE(tap_.carrier) << "a loss shows at once";
  EXPECT_EQ(nic_.deadline(), base::kNever);
  nic_.on_link_back();
  EXPECT_LE(nic_.deadline(), harness_.clock.now() + 2 * InterfaceFollower::kFollowInterval);
}

TEST_F(NicFollowTest, M_20_a_connection_that_ends_all_the_time_moves_the_carrier_as_seldom) {
  configure();
  run_pumped(1s);
  const base::Time begin = harness_.clock.now();
  const std::uint64_t carriers = tap_.carrier_calls;
  for (int i = 0; i < 50; ++i) {
    nic_.on_pair_down(harness_.clock.now());
    configure();
    run_pumped(10ms);
  }
  const auto intervals = (harness_.clock.now() - begin) / InterfaceFollower::kFollowInterval;
  EXPECT_LE(tap_.carrier_calls - carriers, static_cast<std::uint64_t>(intervals) + 3);
  run_pumped(1s);
  EXPECT_TRUE(tap_.carrier);
}

TEST_F(NicFollowTest, the_carrier_stays_while_the_host_moves_to_another_unit) {
  configure();
  run_pumped(1s);
  const std::uint64_t carriers = tap_.carrier_calls;
  nic_.on_move();
  EXPECT_FALSE(nic_.configured());
  configure();
  run_pumped(1s);
  EXPECT_TRUE(tap_.carrier);
  EXPECT_EQ(tap_.carrier_calls, carriers);
  nic_.on_move();
  nic_.on_pair_down(harness_.clock.now());
  EXPECT_FALSE(tap_.carrier) << "the other unit does not take the host";
}

TEST_F(NicFollowTest, the_carrier_stays_while_a_unit_restarts) {
  configure();
  run_pumped(1s);
  const std::uint64_t carriers = tap_.carrier_calls;
  nic_.on_unit_stopped(harness_.clock.now());
  nic_.on_link_lost(harness_.clock.now());
  EXPECT_EQ(nic_.deadline(), harness_.clock.now() + InterfaceFollower::kReturnWait);
  run_pumped(InterfaceFollower::kReturnWait - 100ms);
  nic_.on_link_back();
  configure();
  run_pumped(1s);
  EXPECT_TRUE(tap_.carrier);
  EXPECT_EQ(tap_.carrier_calls, carriers);
}

TEST_F(NicFollowTest, the_carrier_goes_when_a_unit_that_stopped_does_not_return) {
  configure();
  run_pumped(1s);
  nic_.on_unit_stopped(harness_.clock.now());
  nic_.on_link_lost(harness_.clock.now());
  run_pumped(InterfaceFollower::kReturnWait - 1ms);
  EXPECT_TRUE(tap_.carrier);
  run_pumped(1ms);
  EXPECT_FALSE(tap_.carrier);
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

// As a service manager keeps it from one process to the next.
TEST_F(NicFollowTest, B_13_the_carrier_of_an_interface_that_outlives_the_program_stays) {
  tap_.mutable_state().link_up = true;
  tap_.carrier = true;
  NicConfig& next = make_nic({.node_name = "host", .keeps_carrier = true});
  next.pump(harness_.clock.now());
  EXPECT_EQ(next.deadline(), harness_.clock.now() + InterfaceFollower::kReturnWait);
  run_pumped(next, InterfaceFollower::kReturnWait - 100ms);
  configure(next);
  run_pumped(next, 1s);
  next.begin_stop();
  next.on_pair_down(harness_.clock.now());
  next.on_link_lost(harness_.clock.now());
  run_pumped(next, 2 * InterfaceFollower::kReturnWait);
  EXPECT_TRUE(tap_.carrier);
  EXPECT_EQ(tap_.carrier_calls, 0U);
}

TEST_F(NicFollowTest, B_13_the_carrier_that_an_interface_was_left_with_goes_without_a_unit) {
  tap_.mutable_state().link_up = true;
  tap_.carrier = true;
  NicConfig& next = make_nic({.node_name = "host", .keeps_carrier = true});
  run_pumped(next, InterfaceFollower::kReturnWait - 1ms);
  EXPECT_TRUE(tap_.carrier);
  run_pumped(next, 2ms);
  EXPECT_FALSE(tap_.carrier);
}

// A unit that comes back without a working NIC, and stops again, gets no more time by that.
TEST_F(NicFollowTest, a_unit_that_stops_all_the_time_does_not_keep_the_carrier) {
  configure();
  run_pumped(1s);
  refuses_init_ = true;
  for (base::Duration span{}; span < 2 * InterfaceFollower::kReturnWait; span += 100ms) {
    nic_.on_unit_stopped(harness_.clock.now());
    if (!harness_.connect()) FAIL() << "no connection";
    nic_.on_pair_up(*harness_.host().pair, harness_.clock.now());
    run_pumped(100ms);
  }
  EXPECT_FALSE(tap_.carrier);
}

TEST_F(NicFollowTest, M_20_an_mtu_below_576_is_ignored_and_one_below_1280_is_logged) {
  configure();
  ::testing::internal::CaptureStderr();
  for (const std::uint32_t tiny : {1U, 68U, 575U}) {
    lan_has_mtu(tiny);
    run_pumped(1s);
    EXPECT_EQ(mtu(), 1500U) << tiny;
  }
  const std::string ignored = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with("ignored", ignored), 1U) << ignored;
  lan_has_mtu(1500);
  ::testing::internal::CaptureStderr();
  lan_has_mtu(1279);
  run_pumped(1s);
  lan_has_mtu(576);
  run_pumped(1s);
  EXPECT_EQ(mtu(), 576U);
  const std::string small = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_with("IPv6", small), 1U) << small;
}

}  // namespace nic_config_test
}  // namespace splitnic::host
