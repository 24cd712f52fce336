#include "control/nic_request.h"

#include <gtest/gtest.h>

#include "lan_bridge/frame/offload.h"

namespace splitnic::control {
namespace nic_request_test {

using Kind = NicRequest::Kind;

TEST(NicRequestTest, S001_25_words_and_what_they_change) {
  struct Row {
    const char* what;
    const char* value;
    Kind kind;
    bool only_looks;
  };
  for (const Row& row :
       {Row{"link", "", Kind::kLink, true}, Row{"driver", "", Kind::kDriver, true},
        Row{"address", "", Kind::kAddress, true}, Row{"channels", "", Kind::kChannels, true},
        Row{"features", "", Kind::kFeatures, true},
        Row{"set-features", "tso off", Kind::kSetFeatures, false},
        Row{"statistics", "", Kind::kStatistics, true},
        Row{"clear-statistics", "drops", Kind::kClearStatistics, false},
        Row{"reset", "", Kind::kReset, false}, Row{"vlans", "", Kind::kVlans, true},
        Row{"vlan-add", "10", Kind::kVlanAdd, false}, Row{"vlan-del", "10", Kind::kVlanDel, false},
        Row{"pvid", "0", Kind::kPvid, false}}) {
    const auto parsed = parse_nic_request(row.what, row.value);
    ASSERT_TRUE(parsed.has_value()) << row.what;
    EXPECT_EQ(parsed->kind, row.kind) << row.what;
    EXPECT_EQ(only_looks(parsed->kind), row.only_looks) << row.what;
  }
}

TEST(NicRequestTest, S001_25_values) {
  const auto features = parse_nic_request("set-features", "tso off tx-tcp6-segmentation on");
  ASSERT_TRUE(features.has_value());
  EXPECT_EQ(features->features_off, lan::kOffloadTso4);
  EXPECT_EQ(features->features_on, lan::kOffloadTso6);
  EXPECT_EQ(parse_nic_request("vlan-add", "4094")->vlan, 4094);
  EXPECT_EQ(parse_nic_request("statistics", "rmon")->group, "rmon");
}

TEST(NicRequestTest, what_is_refused) {
  for (const auto& [what, value] :
       {std::pair{"frobnicate", ""}, std::pair{"link", "x"}, std::pair{"set-features", ""},
        std::pair{"set-features", "tso"}, std::pair{"set-features", "tso maybe"},
        std::pair{"set-features", "colour on"}, std::pair{"set-features", "tso on tso off"},
        std::pair{"vlan-add", ""}, std::pair{"vlan-add", "4095"}, std::pair{"pvid", "-1"},
        std::pair{"statistics", "a-name-that-is-longer-than-any-group"}}) {
    EXPECT_FALSE(parse_nic_request(what, value).has_value()) << what << " " << value;
  }
}

}  // namespace nic_request_test
}  // namespace splitnic::control
