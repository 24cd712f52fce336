// The reply of the I/O unit to a MAC address, an MTU and promiscuous mode, for `splitnic set`.
#include <gmock/gmock.h>

#include "tests/unit/host_module/nic_config_fixture.h"

namespace splitnic::host {
namespace nic_config_test {

using ::testing::HasSubstr;

constexpr lan::MacAddress kOther{0x02, 0, 0, 0, 0, 0x02};

class NicSettlingTest : public NicConfigFixture {
 protected:
  void expect_settled(CfgCode code, const std::string& why, base::Duration within = 10ms) {
    request(code);
    run_pumped(within);
    EXPECT_EQ(settled_, 1);
    EXPECT_THAT(why_.value_or("none"), HasSubstr(why));
  }
  void request(CfgCode code) {
    settled_ = 0;
    why_.reset();
    nic_.when_settled(code, harness_.clock.now(), [this](const std::optional<std::string>& why) {
      ++settled_;
      why_ = why;
    });
  }

  int settled_ = 0;
  std::optional<std::string> why_;
};

TEST_F(NicSettlingTest, S001_08_a_refused_address_is_known_to_who_has_set_it) {
  configure();
  EXPECT_FALSE(nic_.sync().mac_refusal());
  refuses_mac_ = true;
  user_sets_mac(kOther);
  expect_settled(CfgCode::kSetMac, "the I/O unit refused the interface's MAC address: another");
  EXPECT_THAT(nic_.sync().mac_refusal().value_or(""), HasSubstr("refused"));
  const int before = asked(CfgCode::kSetMac);
  expect_settled(CfgCode::kSetMac, "refused");
  EXPECT_EQ(asked(CfgCode::kSetMac), before + 1) << "it is requested at once";
  refuses_mac_ = false;
  expect_settled(CfgCode::kSetMac, "none");
  EXPECT_FALSE(nic_.sync().mac_refusal());
  expect_settled(CfgCode::kSetMac, "none", 0ms);
}

TEST_F(NicSettlingTest, the_reply_to_an_earlier_request_settles_nothing) {
  configure();
  refuses_mac_ = true;
  user_sets_mac(kOther);
  user_sets_mac({0x02, 0, 0, 0, 0, 0x03});
  harness_.unit().make_reply = [](const CfgRequest& request) -> CfgReply {
    messaging::cfg::SetMacRequest ask;
    EXPECT_TRUE(ask.ParseFromString(std::string(base::as_text(request.data))));
    return {ask.mac().back() == 2 ? CfgStatus::kNotPermitted : CfgStatus::kOk, {}};
  };
  expect_settled(CfgCode::kSetMac, "none");
  EXPECT_EQ(asked(CfgCode::kSetMac), 2);
}

TEST_F(NicSettlingTest, S001_25_an_mtu_beyond_the_lan_is_refused) {
  configure();
  user_sets_mtu(1400);
  expect_settled(CfgCode::kSetMtu, "none");
  user_sets_mtu(9000);
  expect_settled(CfgCode::kSetMtu, "the LAN of the I/O unit has an MTU of 1500");
}

TEST_F(NicSettlingTest, H_2_promiscuous_mode_that_is_not_permitted_is_refused) {
  configure();
  refuses_promiscuous_ = true;
  tap_.mutable_state().promiscuous = true;
  nic_.on_tap_state(harness_.clock.now());
  expect_settled(CfgCode::kSetFilter, "does not permit promiscuous mode");
  expect_settled(CfgCode::kSetFilter, "does not permit promiscuous mode");
  refuses_promiscuous_ = false;
  expect_settled(CfgCode::kSetFilter, "none");
}

TEST_F(NicSettlingTest, without_a_connection_the_next_one_gets_the_value) {
  expect_settled(CfgCode::kSetMac, "none", 0ms);
}

TEST_F(NicSettlingTest, who_waits_hears_of_the_end_of_the_connection) {
  configure();
  user_sets_mac(kOther);
  request(CfgCode::kSetMac);
  EXPECT_EQ(settled_, 0);
  nic_.on_pair_down(harness_.clock.now());
  EXPECT_EQ(settled_, 1);
  EXPECT_THAT(why_.value_or(""), HasSubstr("ended before it had replied"));
}

}  // namespace nic_config_test
}  // namespace splitnic::host
