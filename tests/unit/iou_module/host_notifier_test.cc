#include "iou_module/hosts/host_notifier.h"

#include <gtest/gtest.h>

#include <vector>

#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::iou::host_notifier_test {

using namespace std::chrono_literals;
using messaging::CfgCode;

constexpr base::Time kStart{10s};
constexpr lan::PortState kLan{.link_up = true, .mtu = 9000, .speed_mbps = 10000};

struct HostNotifierTest : ::testing::Test {
  struct Sent {
    CfgCode code;
    std::string data;
    messaging::CfgDone done;
  };
  messaging::cfg::EventRequest event(std::size_t at) const {
    messaging::cfg::EventRequest parsed;
    EXPECT_TRUE(parsed.ParseFromString(sent.at(at).data));
    return parsed;
  }

  bool is_possible = true;
  std::vector<Sent> sent;
  HostNotifier notifier{
      [this](CfgCode code, const std::string& data, messaging::CfgDone done) -> base::Status {
        if (!is_possible) return base::Error("no request can be made now");
        sent.push_back({code, data, std::move(done)});
        return {};
      }};
};

TEST_F(HostNotifierTest, nothing_is_sent_before_the_lan_has_changed) {
  EXPECT_EQ(notifier.deadline(), base::kNever);
  notifier.report_lan(kLan, kStart);
  notifier.request_announce();
  EXPECT_TRUE(sent.empty());
}

TEST_F(HostNotifierTest, an_event_has_the_state_of_the_lan) {
  notifier.events().on_change();
  EXPECT_LE(notifier.deadline(), kStart);
  notifier.report_lan(kLan, kStart);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].code, CfgCode::kEvent);
  EXPECT_TRUE(event(0).link().up());
  EXPECT_TRUE(event(0).link().full_duplex());
  EXPECT_EQ(event(0).link().speed_mbps(), 10000U);
  EXPECT_EQ(event(0).mtu(), 9000U);
}

TEST_F(HostNotifierTest, one_is_outstanding_and_the_next_has_the_newest_state) {
  notifier.events().on_change();
  notifier.report_lan(kLan, kStart);
  notifier.events().on_change();
  notifier.events().on_change();
  notifier.report_lan({}, kStart + 1s);
  ASSERT_EQ(sent.size(), 1U) << "one is outstanding";
  sent[0].done({});
  EXPECT_EQ(notifier.deadline(), kStart + EventState::kInterval);
  notifier.report_lan({}, kStart + 1s);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_FALSE(event(1).link().up());
  EXPECT_GT(event(1).generation(), event(0).generation());
  sent[1].done({});
  EXPECT_EQ(notifier.deadline(), base::kNever) << "the host knows the newest state";
}

TEST_F(HostNotifierTest, an_event_without_a_reply_or_without_a_request_is_repeated) {
  notifier.events().on_change();
  is_possible = false;
  notifier.report_lan(kLan, kStart);
  EXPECT_EQ(notifier.deadline(), kStart + EventState::kInterval);
  is_possible = true;
  notifier.report_lan(kLan, kStart + EventState::kInterval - 1ns);
  EXPECT_TRUE(sent.empty()) << "not before the interval ends";
  notifier.report_lan(kLan, kStart + EventState::kInterval);
  ASSERT_EQ(sent.size(), 1U);
  sent[0].done({.data = {}, .replied = false});
  notifier.report_lan(kLan, kStart + 1s);
  EXPECT_EQ(sent.size(), 2U);
}

TEST_F(HostNotifierTest, S001_25_announce_is_requested_once_and_until_it_is_possible) {
  notifier.set_announce_due();
  is_possible = false;
  notifier.request_announce();
  EXPECT_TRUE(sent.empty());
  is_possible = true;
  notifier.request_announce();
  notifier.request_announce();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].code, CfgCode::kAnnounce);
}

}  // namespace splitnic::iou::host_notifier_test
