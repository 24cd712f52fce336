#include "control/config/setting.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/mtu.h"

namespace splitnic::control {
namespace setting_test {

void expect_refused(const std::string& what, const std::string& value, const std::string& error) {
  const auto parsed = parse_setting(what, value);
  ASSERT_FALSE(parsed) << what << " " << value;
  EXPECT_EQ(parsed.error().text(), error);
}

TEST(SettingTest, each_kind_with_each_of_its_words) {
  using Kind = Setting::Kind;
  EXPECT_EQ(*parse_setting("mac", "02:00:00:00:00:07"),
            (Setting{.kind = Kind::kMac, .mac = {2, 0, 0, 0, 0, 7}}));
  for (const std::uint32_t mtu : {lan::kMtuMin, std::uint32_t{1500}, lan::kTapMtuMax}) {
    EXPECT_EQ(*parse_setting("mtu", std::to_string(mtu)),
              (Setting{.kind = Kind::kMtu, .mtu = mtu}));
  }
  EXPECT_EQ(*parse_setting("filter", "promisc"),
            (Setting{.kind = Kind::kFilter, .is_promiscuous = true}));
  EXPECT_EQ(*parse_setting("filter", "normal"), (Setting{.kind = Kind::kFilter}));
  EXPECT_EQ(*parse_setting("link", "up"), (Setting{.kind = Kind::kLink, .is_up = true}));
  EXPECT_EQ(*parse_setting("link", "down"), (Setting{.kind = Kind::kLink}));
}

TEST(SettingTest, a_refusal_names_what_is_accepted) {
  expect_refused("mac", "02:00", "'02:00' is not a MAC address like 02:00:00:00:00:01");
  const std::string range = std::to_string(lan::kMtuMin) + " to " + std::to_string(lan::kTapMtuMax);
  for (const std::uint32_t mtu : {lan::kMtuMin - 1, lan::kTapMtuMax + 1}) {
    expect_refused("mtu", std::to_string(mtu),
                   "set mtu: '" + std::to_string(mtu) + "' is not a whole number from " + range);
  }
  for (const char* value : {"", "Promisc", "up"}) {
    expect_refused("filter", value, "set filter: promisc or normal");
  }
  for (const char* value : {"", "Up", "normal"}) {
    expect_refused("link", value, "set link: up or down");
  }
  for (const char* what : {"", "Mac", "queues"}) {
    expect_refused(what, "1",
                   "set: '" + std::string(what) + "' is none of mac, mtu, filter and link");
  }
}

}  // namespace setting_test
}  // namespace splitnic::control
