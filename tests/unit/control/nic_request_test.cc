#include "control/config/nic_request.h"

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
  for (const Row& row : {Row{"link", "", Kind::kLink, true},
                         Row{"driver", "", Kind::kDriver, true},
                         Row{"address", "", Kind::kAddress, true},
                         Row{"channels", "", Kind::kChannels, true},
                         Row{"rings", "", Kind::kRings, true},
                         Row{"features", "", Kind::kFeatures, true},
                         Row{"set-features", "tso off", Kind::kSetFeatures, false},
                         Row{"statistics", "", Kind::kStatistics, true},
                         Row{"clear-statistics", "drops", Kind::kClearStatistics, false},
                         Row{"reset", "", Kind::kReset, false},
                         Row{"vlans", "", Kind::kVlans, true},
                         Row{"vlan-add", "10", Kind::kVlanAdd, false},
                         Row{"vlan-del", "10", Kind::kVlanDel, false},
                         Row{"pvid", "0", Kind::kPvid, false},
                         Row{"set-channels", "combined 2", Kind::kSetChannels, false},
                         Row{"coalescing", "", Kind::kCoalescing, true},
                         Row{"set-coalescing", "rx-usecs 50", Kind::kSetCoalescing, false},
                         Row{"qos", "", Kind::kQos, true},
                         Row{"set-qos", "pcp 5 3", Kind::kSetQos, false},
                         Row{"clear-qos", "", Kind::kClearQos, false},
                         Row{"list", "", Kind::kList, true},
                         Row{"filter", "", Kind::kFilter, true},
                         Row{"filter-add", "02:00:00:00:00:07", Kind::kFilterAdd, false},
                         Row{"filter-del", "33:33:00:00:00:01", Kind::kFilterDel, false},
                         Row{"filter-multicast", "listed", Kind::kFilterGroups, false}}) {
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

TEST(NicRequestTest, S001_49_values_of_the_delivery) {
  EXPECT_EQ(parse_nic_request("set-channels", "combined 8")->queues, 8U);
  const auto change = parse_nic_request("set-coalescing", "adaptive-rx on rx-frames 0")->coalescing;
  EXPECT_EQ(change.is_adaptive, true);
  EXPECT_EQ(change.frames, 0U);
  EXPECT_FALSE(change.microseconds.has_value());
  EXPECT_FALSE(change.bytes.has_value());
  const auto qos = parse_nic_request("set-qos", "pcp 7 15 dscp 63 none")->qos;
  ASSERT_EQ(qos.size(), 2U);
  EXPECT_EQ(qos[0], (NicRequest::QosChange{false, 7, 15}));
  EXPECT_EQ(qos[1], (NicRequest::QosChange{true, 63, std::nullopt}));
}

TEST(NicRequestTest, what_is_refused) {
  for (const auto& [what, value] : {std::pair{"frobnicate", ""},
                                    std::pair{"link", "x"},
                                    std::pair{"set-features", ""},
                                    std::pair{"set-features", "tso"},
                                    std::pair{"set-features", "tso maybe"},
                                    std::pair{"set-features", "colour on"},
                                    std::pair{"set-features", "tso on tso off"},
                                    std::pair{"vlan-add", ""},
                                    std::pair{"vlan-add", "4095"},
                                    std::pair{"pvid", "-1"},
                                    std::pair{"statistics", "a-name-that-is-longer-than-any-group"},
                                    std::pair{"set-channels", "combined 0"},
                                    std::pair{"set-channels", "combined 9"},
                                    std::pair{"set-channels", "rx 2"},
                                    std::pair{"set-channels", "combined 2 2"},
                                    std::pair{"set-coalescing", ""},
                                    std::pair{"set-coalescing", "rx-usecs"},
                                    std::pair{"set-coalescing", "rx-usecs 100001"},
                                    std::pair{"set-coalescing", "rx-frames 1025"},
                                    std::pair{"set-coalescing", "rx-bytes 1048577"},
                                    std::pair{"set-coalescing", "tx-usecs 1"},
                                    std::pair{"set-coalescing", "adaptive-rx 1"},
                                    std::pair{"set-qos", ""},
                                    std::pair{"set-qos", "pcp 5"},
                                    std::pair{"set-qos", "pcp 8 1"},
                                    std::pair{"set-qos", "dscp 64 1"},
                                    std::pair{"set-qos", "pcp 5 16"},
                                    std::pair{"set-qos", "tos 5 1"},
                                    std::pair{"clear-qos", "all"},
                                    std::pair{"filter-add", "02:00"},
                                    std::pair{"filter-add", "ff:ff:ff:ff:ff:ff"},
                                    std::pair{"filter-add", "00:00:00:00:00:00"},
                                    std::pair{"filter-multicast", "none"}}) {
    EXPECT_FALSE(parse_nic_request(what, value).has_value()) << what << " " << value;
  }
}

}  // namespace nic_request_test
}  // namespace splitnic::control
