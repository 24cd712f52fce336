// GET_STATS, QUERY_STATS and CLEAR_STATS as a host sends them, compared with its frames.
#include "iou_module/nic/nic_stats.h"

#include <map>

#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness {
namespace {

using Stats = std::map<std::string, std::uint64_t>;

constexpr lan::MacAddress kGroup{0x01, 0x00, 0x5E, 0, 0, 7};

class NicStatsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(harness.attach(host, mac_number(1)));
    cfg::SetFilterRequest filter;
    filter.mutable_filter()->set_all_multicast(true);
    ASSERT_EQ(harness.ask(host, CfgCode::kSetFilter, filter).status, CfgStatus::kOk);
  }
  CfgReply reply(const std::string& group) {
    cfg::GetStatsRequest request;
    request.set_group(group);
    return harness.ask(host, CfgCode::kGetStats, request);
  }
  Stats get(const std::string& group) {
    cfg::GetStatsReply got;
    EXPECT_TRUE(got.ParseFromString(reply(group).data));
    Stats stats;
    for (const cfg::Counter& counter : got.counters()) {
      EXPECT_TRUE(stats.try_emplace(counter.name(), counter.value()).second) << counter.name();
    }
    return stats;
  }
  // Without counters that are 0.
  Stats counted(const std::string& group) {
    Stats stats = get(group);
    std::erase_if(stats, [](const auto& entry) { return entry.second == 0; });
    return stats;
  }
  CfgStatus clear(const std::string& group) {
    cfg::ClearStatsRequest request;
    request.set_group(group);
    return harness.ask(host, CfgCode::kClearStats, request).status;
  }
  void push(const Frame& frame) {
    ASSERT_TRUE(host.push(frame));
    harness.run(1ms);
  }

  UnitHarness harness;
  TestHost& host = harness.add_host();
};

// A frame that takes `bytes` on a LAN, with its FCS.
Frame sized(const lan::MacAddress& to, const lan::MacAddress& from, std::size_t on_lan,
            std::uint16_t vlan = 0) {
  return frame_of(to, from, 0, vlan, on_lan - 4 + lan::kVnetHeaderBytes);
}

TEST_F(NicStatsTest, S001_25_the_groups_are_reported_and_another_is_refused) {
  cfg::QueryStatsReply groups;
  ASSERT_TRUE(groups.ParseFromString(harness.ask(host, CfgCode::kQueryStats).data));
  const std::vector<std::string> names(groups.groups().begin(), groups.groups().end());
  EXPECT_EQ(names, (std::vector<std::string>{"basic", "rmon", "drops", "pools", "queues"}));
  for (const std::string& group : names) {
    EXPECT_EQ(reply(group).status, CfgStatus::kOk) << group;
    EXPECT_FALSE(get(group).empty()) << group;
  }
  EXPECT_EQ(get(""), get("basic"));
  EXPECT_EQ(static_cast<int>(reply("lan").status), 3);
  EXPECT_EQ(static_cast<int>(clear("lan")), 3);
}

TEST_F(NicStatsTest, S001_25_rmon_and_basic_are_what_went_to_and_fro) {
  const lan::MacAddress own = mac_number(1);
  const std::vector<Frame> to_host{sized(own, kPeer, 64),          sized(own, kPeer, 65),
                                   sized(own, kPeer, 127, 5),      sized(kGroup, kPeer, 128),
                                   sized(kBroadcast, kPeer, 255),  sized(own, kPeer, 1518),
                                   sized(kBroadcast, kPeer, 64, 5)};
  const std::vector<Frame> from_host{sized(kPeer, own, 256),       sized(kPeer, own, 511),
                                     sized(kPeer, own, 512, 5),    sized(kGroup, own, 1023),
                                     sized(kBroadcast, own, 1024), sized(kPeer, own, 1518, 5)};
  std::uint64_t to_bytes = 0;
  std::uint64_t from_bytes = 0;
  for (const Frame& frame : to_host) {
    harness.lan().queue(frame);
    to_bytes += frame.size() - lan::kVnetHeaderBytes;
  }
  harness.run(5ms);
  for (const Frame& frame : from_host) {
    push(frame);
    from_bytes += frame.size() - lan::kVnetHeaderBytes;
  }
  ASSERT_EQ(host.got, to_host);
  ASSERT_EQ(harness.written[0], from_host);
  EXPECT_EQ(counted("rmon"), (Stats{{"iou.to_host.ethernet_bytes", to_bytes},
                                    {"iou.to_host.unicast", 4},
                                    {"iou.to_host.multicast", 1},
                                    {"iou.to_host.broadcast", 2},
                                    {"iou.to_host.untagged", 5},
                                    {"iou.to_host.tagged", 2},
                                    {"iou.to_host.size.64", 2},
                                    {"iou.to_host.size.127", 2},
                                    {"iou.to_host.size.255", 2},
                                    {"iou.to_host.size.1518", 1},
                                    {"iou.from_host.ethernet_bytes", from_bytes},
                                    {"iou.from_host.unicast", 4},
                                    {"iou.from_host.multicast", 1},
                                    {"iou.from_host.broadcast", 1},
                                    {"iou.from_host.untagged", 4},
                                    {"iou.from_host.tagged", 2},
                                    {"iou.from_host.size.511", 2},
                                    {"iou.from_host.size.1023", 2},
                                    {"iou.from_host.size.1518", 2}}));
  EXPECT_EQ(get("rmon").size(), 26U);
  EXPECT_EQ(harness.count("host.host1.iou.from_host.size.511"), 2U);
  EXPECT_EQ(get("basic"), (Stats{{"iou.to_host.frames", 7},
                                 {"iou.to_host.bytes", to_bytes + 7 * lan::kVnetHeaderBytes},
                                 {"iou.to_host.split", 0},
                                 {"iou.from_host.frames", 6},
                                 {"iou.from_host.bytes", from_bytes + 6 * lan::kVnetHeaderBytes}}));
  EXPECT_TRUE(counted("drops").empty());
}

TEST_F(NicStatsTest, S001_25_each_drop_is_under_its_cause) {
  ASSERT_EQ(harness.vlan(host, CfgCode::kVlanAdd, 5), CfgStatus::kOk);
  harness.lan().queue(frame_of(mac_number(1), kPeer, 1, 6));
  harness.run(5ms);
  push(frame_of(kPeer, mac_number(9), 1));  // not its address
  push(Frame(lan::kVnetHeaderBytes + 13));  // no Ethernet header
  Frame super = frame_of(kPeer, mac_number(1), 1);
  super[1] = std::byte{1};  // TSO4, which was not granted
  push(super);
  const Stats dropped{{"lan.rx.drop.vlan", 1},
                      {"iou.from_host.drop.spoof", 1},
                      {"iou.from_host.drop.short", 1},
                      {"iou.from_host.drop.vnet", 1}};
  EXPECT_EQ(counted("drops"), dropped);
  EXPECT_EQ(counted("rmon").at("iou.from_host.unicast"), 2U) << "the short one has no kind";
  EXPECT_EQ(get("basic").at("iou.from_host.frames"), 3U);
}

TEST_F(NicStatsTest, S001_25_pools_and_queues_are_as_the_pair_has_them) {
  const Stats pools = get("pools");
  EXPECT_GT(pools.at("pool.ours.pools"), 0U);
  EXPECT_EQ(pools.at("pool.peer.available"), pools.at("pool.peer.elements"));
  host.takes = false;  // frames for it stay in its elements
  for (std::uint32_t i = 0; i < 10; ++i) harness.lan().queue(frame_of(mac_number(1), kPeer, i));
  harness.run(5ms);
  EXPECT_EQ(get("pools").at("pool.peer.available"), pools.at("pool.peer.available") - 10);
  const Stats queues = get("queues");
  EXPECT_EQ(queues.at("msg.tx.writes"), 10U);
  EXPECT_EQ(queues.at("queue.to_host.waiting"), 0U);
  EXPECT_EQ(queues.at("queue.from_host.waiting"), 0U);
  const std::uint64_t more = pools.at("pool.peer.available");
  for (std::uint32_t i = 0; i < more; ++i) harness.lan().queue(frame_of(mac_number(1), kPeer, i));
  harness.run(20ms);
  const Stats full = get("queues");
  EXPECT_GT(full.at("queue.to_host.waiting"), 0U) << "no element is left";
  EXPECT_EQ(full.at("queue.to_host.waiting"), 10 + more - full.at("msg.tx.writes"));
}

TEST_F(NicStatsTest, S001_25_a_host_clears_its_own_view_only) {
  const Frame frame = sized(mac_number(1), kPeer, 64);
  harness.lan().queue(frame);
  push(frame_of(kPeer, mac_number(9), 1));  // dropped
  ASSERT_EQ(get("basic").at("iou.to_host.frames"), 1U);
  ASSERT_EQ(clear("rmon"), CfgStatus::kOk);
  EXPECT_TRUE(counted("rmon").empty());
  EXPECT_EQ(get("basic").at("iou.to_host.frames"), 1U);
  EXPECT_FALSE(counted("drops").empty());
  ASSERT_EQ(clear(""), CfgStatus::kOk);
  EXPECT_TRUE(counted("basic").empty());
  EXPECT_TRUE(counted("drops").empty());
  EXPECT_EQ(harness.count("iou.to_host.frames"), 1U) << "the unit's owner still sees it";
  EXPECT_EQ(harness.count("iou.from_host.drop.spoof"), 1U);
  harness.lan().queue(frame);
  harness.run(5ms);
  EXPECT_EQ(counted("basic").at("iou.to_host.frames"), 1U);
  EXPECT_EQ(counted("rmon").at("iou.to_host.size.64"), 1U);
  EXPECT_EQ(harness.count("iou.to_host.frames"), 2U);
}

TEST(RmonTest, a_super_frame_is_one_frame_of_its_length) {
  Rmon rmon;
  const Frame frame = sized(kPeer, mac_number(1), 60'000);
  rmon.count_from_host(frame);
  rmon.count_to_host(sized(kPeer, mac_number(1), 1519));
  EXPECT_EQ(rmon.counters()[RmonCounter::kFromHostSizeMore], 1U);
  EXPECT_EQ(rmon.counters()[RmonCounter::kFromHostBytes], 59'996U);
  EXPECT_EQ(rmon.counters()[RmonCounter::kToHostSizeMore], 1U);
}

}  // namespace
}  // namespace splitnic::iou::harness
