// The step SET_FILTER with what the kernel lists for the interface, row by row, without a
// connection.
#include "host_module/nic_filter.h"

#include <gtest/gtest.h>

#include "host_module/nic_sync.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::host {
namespace nic_filter_test {

using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;
using namespace std::chrono_literals;
using Macs = std::vector<lan::MacAddress>;

constexpr lan::MacAddress kMacvlan{0x02, 0, 0, 0, 0, 0x51};
constexpr lan::MacAddress kRouter{0x02, 0, 0, 0, 0, 0x52};
constexpr lan::MacAddress kGroup{0x01, 0, 0x5e, 0, 0, 0x4d};
constexpr base::Time kBegin{1000s};

class NicFilterTest : public ::testing::Test {
 protected:
  // Configured, with the default filter acknowledged.
  NicFilterTest() {
    sync.phase = SyncPhase::kConfigured;
    sync.acknowledged.mac = sync.wanted.mac;
    sync.acknowledged.mtu = sync.wanted.mtu;
    sync.acknowledged.offloads = 0;
    sync.acknowledged.started = false;
    sync.acknowledged.filter = FilterSetting{};
  }
  // The kernel lists it, which makes the interface promiscuous once.
  void kernel_lists(const Macs& unicast, std::uint32_t others_promiscuous = 0) {
    sync.listed.unicast = unicast;
    sync.listed.promiscuity = others_promiscuous + (unicast.empty() ? 0 : 1);
    sync.wanted.promiscuous = false;  // no event has come
  }
  // The filter that is due, sent as the owner sends it; none: nothing is due.
  std::optional<FilterSetting> send(base::Time now = kBegin) {
    const SyncStep* const step = next_step(sync, now);
    if (step == nullptr) return std::nullopt;
    EXPECT_EQ(step->code, CfgCode::kSetFilter);
    sync.on_send(now);
    return sync.sent_filter;
  }
  std::optional<std::string> reply(messaging::cfg::Refusal refusal = messaging::cfg::UNSPECIFIED) {
    messaging::cfg::SetFilterReply data;
    data.set_refusal(refusal);
    const bool is_ok = refusal == messaging::cfg::UNSPECIFIED;
    return on_filter(sync, CfgReply{is_ok ? CfgStatus::kOk : CfgStatus::kNotPermitted,
                                    data.SerializeAsString()})
        .warning;
  }

  NicSync sync;
};

TEST_F(NicFilterTest, S001_25_a_listed_address_replaces_the_promiscuous_mode_of_its_kernel) {
  kernel_lists({kMacvlan});
  auto sent = send();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->lists.unicast, Macs{kMacvlan});
  EXPECT_FALSE(sent->promiscuous);
  EXPECT_FALSE(reply());
  EXPECT_FALSE(send());
  EXPECT_EQ(sync.deadline(), base::kNever);
  kernel_lists({kMacvlan}, 1);  // a bridge takes it too
  sent = send();
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->promiscuous);
  reply();
  kernel_lists({});
  sent = send();
  ASSERT_TRUE(sent);
  EXPECT_EQ(*sent, FilterSetting{});
}

TEST_F(NicFilterTest, S001_25_the_user_and_the_kernel_have_one_list) {
  sync.user.filter.add(kRouter);
  kernel_lists({kMacvlan, kRouter});
  const auto sent = send();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->lists.unicast, (Macs{kMacvlan, kRouter}));
  EXPECT_EQ(sync.wanted_state().unicast, sent->lists.unicast) << "the digest has them";
  EXPECT_EQ(sync.filter_permitted(UserFilter{}).lists.unicast, (Macs{kMacvlan, kRouter}));
}

TEST_F(NicFilterTest, S001_25_groups_of_the_kernel_count_when_the_user_has_them_listed) {
  sync.listed.multicast = {kGroup};
  EXPECT_FALSE(send()) << "all groups pass";
  sync.user.filter.all_multicast = false;
  auto sent = send();
  ASSERT_TRUE(sent);
  EXPECT_FALSE(sent->lists.all_multicast);
  EXPECT_EQ(sent->lists.multicast, Macs{kGroup});
  reply();
  sync.wanted.all_multicast = true;  // `ip link set nic0 allmulticast on`
  sent = send();
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->lists.all_multicast);
}

TEST_F(NicFilterTest, S001_25_more_groups_than_a_list_has_room_for_pass_all) {
  sync.user.filter.all_multicast = false;
  for (std::size_t i = 0; i <= UserFilter::kEntriesMax; ++i) {
    sync.listed.multicast.push_back(
        {0x01, 0, 0x5e, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)});
  }
  EXPECT_TRUE(sync.filter_to_send(kBegin).lists.all_multicast);
  sync.listed.multicast.pop_back();
  EXPECT_FALSE(sync.filter_to_send(kBegin).lists.all_multicast);
}

TEST_F(NicFilterTest, S001_25_a_refused_list_becomes_promiscuous_mode_and_is_requested_again) {
  kernel_lists({kMacvlan});
  ASSERT_TRUE(send());
  const auto warning = reply(messaging::cfg::TOO_MANY);
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->find("as many as it may have"), std::string::npos) << *warning;
  auto sent = send();
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->promiscuous);
  EXPECT_TRUE(sent->lists.unicast.empty());
  EXPECT_TRUE(reply(messaging::cfg::PROMISCUOUS));
  EXPECT_FALSE(send()) << "the unit has the filter that it permits";
  EXPECT_EQ(sync.deadline(), kBegin + 10s);
  sent = send(kBegin + 10s);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->lists.unicast, Macs{kMacvlan});
  EXPECT_FALSE(reply(messaging::cfg::TOO_MANY)) << "it is reported once";
  ASSERT_TRUE(send(kBegin + 10s)->promiscuous);
  EXPECT_FALSE(reply(messaging::cfg::PROMISCUOUS));
  EXPECT_EQ(sync.deadline(), kBegin + 20s) << "nothing is due before";
  kernel_lists({kRouter});  // another list does not wait
  sent = send(kBegin + 11s);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->lists.unicast, Macs{kRouter});
  EXPECT_FALSE(reply());
  EXPECT_FALSE(send(kBegin + 30s));
  EXPECT_EQ(sync.deadline(), base::kNever);
}

TEST_F(NicFilterTest, S001_25_a_refused_list_that_ended_is_new_when_it_comes_again) {
  kernel_lists({kMacvlan});
  ASSERT_TRUE(send());
  EXPECT_TRUE(reply(messaging::cfg::TOO_MANY));
  sync.end_refusals();
  EXPECT_EQ(sync.refused_listed, Macs{kMacvlan}) << "the list is the same";
  ASSERT_TRUE(send()->promiscuous);
  EXPECT_TRUE(reply(messaging::cfg::PROMISCUOUS));
  sync.end_refusals();
  EXPECT_TRUE(sync.is_promiscuous_refused) << "it is wanted in place of the list";
  kernel_lists({});
  sync.end_refusals();
  EXPECT_FALSE(sync.refused_listed);
  EXPECT_FALSE(sync.is_promiscuous_refused);
  kernel_lists({kMacvlan});
  ASSERT_TRUE(send());
  EXPECT_TRUE(reply(messaging::cfg::TOO_MANY)) << "it is reported";
}

TEST_F(NicFilterTest, S001_25_the_event_counts_where_the_promiscuity_is_not_known) {
  sync.wanted.promiscuous = true;
  const auto sent = send();
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->promiscuous);
}

TEST_F(NicFilterTest, S001_25_a_list_without_room_is_promiscuous_mode) {
  for (std::size_t i = 0; i <= UserFilter::kEntriesMax; ++i) {
    sync.listed.unicast.push_back(
        {0x02, 0, 0, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)});
  }
  kernel_lists(sync.listed.unicast);
  const auto sent = send();
  ASSERT_TRUE(sent);
  EXPECT_TRUE(sent->promiscuous);
  EXPECT_TRUE(sent->lists.unicast.empty());
}

}  // namespace nic_filter_test
}  // namespace splitnic::host
