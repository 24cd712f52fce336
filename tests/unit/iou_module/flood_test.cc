// Hosts that ask for connections as fast as they can, or for some that cannot be: nobody else pays.
#include "messaging/connect.pb.h"
#include "tests/unit/iou_module/unit_bench.h"

namespace splitnic::iou::bench::flood_test {
namespace {

namespace connect = messaging::connect;

connect::Capabilities good_capabilities() {
  connect::Capabilities c;
  c.set_mode(connect::MODE_SEND);
  c.set_version_lowest(1);
  c.set_version_highest(1);
  c.add_msg_max(4096);
  c.add_msg_max(65536);
  c.set_node_name("flood");
  return c;
}

// As many CONNECT_REQ, each with a transaction id of its own.
void ask_often(UnitBench& bench, TestHost& host, const std::string& private_data,
               std::size_t count) {
  std::array<fabric::MgmtPair, 2> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].channel = static_cast<std::uint8_t>(i);
    pairs[i].service = fabric::Service::kUc;
    pairs[i].qpn = fabric::Qpn(static_cast<std::uint32_t>(100 + i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    host.adapter->connections().connect(*host.link, pairs, base::as_bytes(private_data),
                                        bench.clock.now());
  }
}

TEST(FloodTest, S001_08_a_flood_of_connect_requests_builds_one_session_in_20_ms) {
  UnitBench bench;
  TestHost& host = bench.add_host();
  TestHost& flooder = bench.add_host();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  ASSERT_TRUE(bench.run_until([&] { return flooder.link_up(); }));
  ask_often(bench, flooder, good_capabilities().SerializeAsString(), 200);
  std::size_t sessions_max = 0;
  bench.run_until(
      [&] {
        sessions_max = std::max(sessions_max, bench.unit->sessions().size());
        return false;
      },
      Iou::kSessionEvery - 1ms);
  EXPECT_EQ(bench.count("iou.hosts.refused_often"), 199U);
  EXPECT_LE(sessions_max, 2U);
  bench.lan().queue(frame_of(mac_number(1), kPeer));
  bench.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST(FloodTest, a_host_that_was_rejected_for_it_is_let_in_when_it_asks_again) {
  UnitBench bench;
  TestHost& host = bench.add_host();
  ASSERT_TRUE(bench.connect(host));
  bench.run(Iou::kSessionEvery);
  host.connect();
  ASSERT_TRUE(bench.run_until([&] { return host.up(); }, 10ms));
  host.connect();
  ASSERT_TRUE(bench.run_until([&] { return !host.refusal.empty(); }, 10ms));
  EXPECT_EQ(bench.count("iou.hosts.refused_often"), 1U);
  EXPECT_FALSE(host.up());
  bench.run(Iou::kSessionEvery);
  host.connect();
  EXPECT_TRUE(bench.run_until([&] { return host.up(); }));
}

TEST(FloodTest, what_is_refused_ends_no_session_and_builds_none) {
  UnitBench bench;
  TestHost& host = bench.add_host();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  bench.run(Iou::kSessionEvery);
  const HostSession* session = bench.unit->sessions().at(0);
  ask_often(bench, host, "\xff\xff\xff", 1);
  auto capabilities = good_capabilities();
  capabilities.set_version_lowest(2);
  capabilities.set_version_highest(2);
  ask_often(bench, host, capabilities.SerializeAsString(), 1);
  capabilities = good_capabilities();
  capabilities.set_msg_max(0, 100);
  ask_often(bench, host, capabilities.SerializeAsString(), 1);
  capabilities = good_capabilities();
  capabilities.set_nic(1);
  ask_often(bench, host, capabilities.SerializeAsString(), 1);
  bench.run(5ms);
  EXPECT_EQ(bench.count("iou.hosts.refused_capabilities"), 3U);
  EXPECT_EQ(bench.count("iou.hosts.refused_nic"), 1U);
  ASSERT_EQ(bench.unit->sessions().size(), 1U);
  EXPECT_EQ(bench.unit->sessions()[0], session);
  EXPECT_TRUE(host.up());
  bench.lan().queue(frame_of(mac_number(1), kPeer));
  bench.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST(FloodTest, a_full_unit_lets_a_host_that_is_in_connect_anew) {
  UnitBench bench({.hosts_max = 1});
  TestHost& host = bench.add_host();
  TestHost& other = bench.add_host();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  EXPECT_FALSE(bench.connect(other));
  EXPECT_GE(bench.count("iou.hosts.refused_full"), 1U);
  EXPECT_TRUE(bench.connect(host));
}

TEST(FloodTest, S001_14_a_session_that_a_new_connection_ends_is_counted_too) {
  UnitBench bench;
  TestHost& host = bench.add_host();
  ASSERT_TRUE(bench.attach(host, mac_number(1)));
  bench.run(Iou::kSessionEvery);
  bench.lan().writes_blocked = true;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), i)));
  }
  bench.run(5ms);
  // Without a word of the old one.
  ask_often(bench, host, good_capabilities().SerializeAsString(), 1);
  bench.lan().forget_refused();
  bench.run(5ms);
  EXPECT_EQ(bench.count("iou.from_host.frames"), 5U);
  EXPECT_EQ(bench.count("iou.from_host.drop.ended"), 5U);
}

}  // namespace
}  // namespace splitnic::iou::bench::flood_test
