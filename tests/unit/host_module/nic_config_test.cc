// The requests of the host to a remote NIC that knows it, or does not.
#include "host_module/nic_config.h"

#include <gtest/gtest.h>

#include "messaging/cfgutil/cfgutil.pb.h"
#include "tests/sim/fake_port.h"
#include "tests/support/channel_fixture.h"

namespace splitnic::host {
namespace nic_config_test {

using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgRequest;
using messaging::CfgStatus;
using namespace std::chrono_literals;

constexpr lan::MacAddress kMac{0x02, 0, 0, 0, 0, 0x01};
constexpr std::uint32_t kGranted = lan::kOffloadChecksum | lan::kOffloadTso4;

class NicConfigTest : public ::testing::Test {
 protected:
  NicConfigTest() : tap_(kMac), nic_(tap_, {"host"}) {
    tap_.mutable_state().mtu = 1500;
    known_.mac = kMac;
    known_.all_multicast = true;
    known_.mtu = 1500;
    known_.offloads = kGranted;
    harness_.unit().make_reply = [this](const CfgRequest& request) { return reply(request); };
  }
  void configure() { configure(nic_); }
  void configure(NicConfig& nic) {
    if (!harness_.connect()) FAIL() << "no connection";
    nic.on_pair_up(*harness_.host().pair, harness_.clock.now());
    EXPECT_TRUE(harness_.run_until([&] {
      nic.pump(harness_.clock.now());
      return nic.configured();
    }));
  }
  void run_pumped(base::Duration span) {
    harness_.run_until(
        [this] {
          nic_.pump(harness_.clock.now());
          return false;
        },
        span);
  }
  void user_sets_mac(const lan::MacAddress& mac) {
    tap_.mutable_state().mac = mac;
    nic_.on_tap_state(harness_.clock.now());
  }
  void lan_has_mtu(std::uint32_t mtu) { lan_has_mtu(nic_, mtu); }
  void lan_has_link(bool is_up) {
    messaging::cfg::EventRequest event;
    event.set_generation(++generation_);
    event.mutable_link()->set_up(is_up);
    const std::string data = event.SerializeAsString();
    nic_.on_request({CfgCode::kEvent, base::as_bytes(data)}, harness_.clock.now());
  }
  void lan_has_mtu(NicConfig& nic, std::uint32_t mtu) {
    messaging::cfg::EventRequest event;
    event.set_generation(++generation_);
    event.mutable_link()->set_up(true);
    event.set_mtu(mtu);
    const std::string data = event.SerializeAsString();
    nic.on_request({CfgCode::kEvent, base::as_bytes(data)}, harness_.clock.now());
  }
  void user_sets_mtu(std::uint32_t mtu) {
    tap_.mutable_state().mtu = mtu;
    nic_.on_tap_state(harness_.clock.now());
  }
  std::uint32_t mtu() { return tap_.state().mtu; }
  int asked(CfgCode code) { return harness_.unit().asked[code]; }
  int asked_settings() {
    return asked(CfgCode::kSetMac) + asked(CfgCode::kSetMtu) + asked(CfgCode::kSetFilter);
  }

  messaging::harness::ChannelFixture harness_;
  sim::FakePort tap_;
  NicConfig nic_;
  messaging::NicState known_;     // what the unit has of us
  bool unit_knows_state_ = true;  // false: an older program
  bool refuses_mac_ = false;
  bool refuses_init_ = false;
  bool refuses_promiscuous_ = false;
  int busy_replies_ = 0;
  std::uint32_t lan_mtu_ = 1500;

 private:
  std::uint64_t generation_ = 0;
  CfgReply reply(const CfgRequest& request) {
    if (request.code == CfgCode::kInitNic) {
      if (refuses_init_) return {CfgStatus::kDeviceError, {}};
      messaging::cfg::InitNicReply reply;
      reply.set_mtu(lan_mtu_);
      reply.set_mtu_max(lan_mtu_);
      reply.mutable_link()->set_up(true);
      reply.set_features_granted(kGranted);
      return {CfgStatus::kOk, reply.SerializeAsString()};
    }
    if (request.code == CfgCode::kGetState) {
      if (!unit_knows_state_) return {CfgStatus::kUnknown, {}};
      messaging::cfg::GetStateReply reply;
      reply.set_digest(known_.digest());
      return {CfgStatus::kOk, reply.SerializeAsString()};
    }
    if (busy_replies_ > 0) {
      --busy_replies_;
      return {CfgStatus::kBusy, {}};
    }
    if (request.code == CfgCode::kSetMac && refuses_mac_) return {CfgStatus::kNotPermitted, {}};
    if (request.code == CfgCode::kSetFilter && refuses_promiscuous_) {
      messaging::cfg::SetFilterRequest ask;
      EXPECT_TRUE(ask.ParseFromString(std::string(base::as_text(request.data))));
      if (ask.filter().promiscuous()) return {CfgStatus::kNotPermitted, {}};
    }
    return {CfgStatus::kOk, {}};
  }
};

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

TEST_F(NicConfigTest, S001_25_an_interface_that_is_down_is_stopped_there) {
  tap_.mutable_state().admin_up = false;
  nic_.on_tap_state(harness_.clock.now());
  configure();
  EXPECT_EQ(asked(CfgCode::kStop), 1);  // the unit may have it started from before
  EXPECT_EQ(asked(CfgCode::kStart), 0);
}

TEST_F(NicConfigTest, S001_25_the_interface_has_the_lans_mtu_both_ways) {
  configure();
  run_pumped(NicConfig::kFollowInterval);  // its carrier came on just now
  lan_has_mtu(1300);
  EXPECT_EQ(mtu(), 1300U);
  run_pumped(NicConfig::kFollowInterval);
  lan_has_mtu(9000);
  EXPECT_EQ(mtu(), 9000U);
}

TEST_F(NicConfigTest, S001_25_what_the_user_set_is_the_most) {
  configure();
  run_pumped(NicConfig::kFollowInterval);
  user_sets_mtu(1400);
  lan_has_mtu(1300);
  EXPECT_EQ(mtu(), 1300U);
  run_pumped(NicConfig::kFollowInterval);
  lan_has_mtu(9000);
  EXPECT_EQ(mtu(), 1400U);
}

// After kill -9 the interface is found as it was left. The LAN has 1500.
TEST_F(NicConfigTest, S001_25_an_mtu_that_was_only_the_lans_is_not_taken_for_the_users) {
  lan_mtu_ = tap_.mutable_state().mtu = 9000;
  NicConfig again(tap_, {"host"});
  configure(again);
  harness_.run_for(NicConfig::kFollowInterval);
  lan_has_mtu(again, 1400);
  EXPECT_EQ(mtu(), 1400U);
  harness_.run_for(NicConfig::kFollowInterval);
  lan_has_mtu(again, 9216);
  EXPECT_EQ(mtu(), 9216U);
}

TEST_F(NicConfigTest, S001_25_an_mtu_below_the_lans_on_an_interface_that_was_there_is_the_users) {
  lan_mtu_ = 9000;
  tap_.mutable_state().mtu = 1400;
  NicConfig again(tap_, {"host"});
  configure(again);
  harness_.run_for(NicConfig::kFollowInterval);
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

std::size_t lines_with(const std::string& text, const std::string& log) {
  std::size_t count = 0;
  for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1))
    ++count;
  return count;
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

// A hostile unit reports another state of its LAN all the time.
TEST_F(NicConfigTest, M_20_the_interface_follows_ten_times_per_second_and_to_the_newest_state) {
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
  EXPECT_LE(nic_.deadline(), harness_.clock.now() + NicConfig::kFollowInterval);
  run_pumped(NicConfig::kFollowInterval);
  EXPECT_EQ(mtu(), 1444U);
  EXPECT_EQ(nic_.deadline(), base::kNever);
}

TEST_F(NicConfigTest, M_20_the_carrier_follows_ten_times_per_second) {
  configure();
  run_pumped(1s);
  const std::uint64_t carriers = tap_.carrier_calls;
  for (int i = 0; i < 1001; ++i) {
    lan_has_link(i % 2 != 0);
    run_pumped(1ms);
  }
  EXPECT_LE(tap_.carrier_calls - carriers, 12U);
  run_pumped(NicConfig::kFollowInterval);
  EXPECT_FALSE(tap_.carrier);
}

// A hostile unit ends the link and completes the next handshake at once.
TEST_F(NicConfigTest, M_20_a_link_that_flaps_moves_the_carrier_ten_times_per_second) {
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
  run_pumped(2 * NicConfig::kFollowInterval);
  EXPECT_TRUE(tap_.carrier);
  run_pumped(1s);
  nic_.on_link_lost(harness_.clock.now());
  EXPECT_FALSE(tap_.carrier) << "a loss shows at once";
  EXPECT_EQ(nic_.deadline(), base::kNever);
  nic_.on_link_back();
  EXPECT_LE(nic_.deadline(), harness_.clock.now() + 2 * NicConfig::kFollowInterval);
}

TEST_F(NicConfigTest, M_20_a_connection_that_ends_all_the_time_moves_the_carrier_as_seldom) {
  configure();
  run_pumped(1s);
  const base::Time begin = harness_.clock.now();
  const std::uint64_t carriers = tap_.carrier_calls;
  for (int i = 0; i < 50; ++i) {
    nic_.on_pair_down(harness_.clock.now());
    configure();
    run_pumped(10ms);
  }
  const auto intervals = (harness_.clock.now() - begin) / NicConfig::kFollowInterval;
  EXPECT_LE(tap_.carrier_calls - carriers, static_cast<std::uint64_t>(intervals) + 3);
  run_pumped(1s);
  EXPECT_TRUE(tap_.carrier);
}

TEST_F(NicConfigTest, M_20_an_mtu_below_576_is_ignored_and_one_below_1280_is_logged) {
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
