// Hosts that request connections as fast as they can, or impossible ones: no other host suffers.
#include "messaging/connect.pb.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou::harness::flood_test {
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

// Sends this many CONNECT_REQ, each with another transaction id.
void ask_often(UnitHarness& harness, TestHost& host, const std::string& private_data,
               std::size_t count) {
  std::array<fabric::MgmtPair, 2> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].channel = static_cast<std::uint8_t>(i);
    pairs[i].service = fabric::Service::kUc;
    pairs[i].qpn = fabric::Qpn(static_cast<std::uint32_t>(100 + i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    host.adapter->connections().connect(*host.link, pairs, base::as_bytes(private_data),
                                        harness.clock.now());
  }
}

TEST(FloodTest, S001_08_a_flood_of_connect_requests_builds_one_session_in_20_ms) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  TestHost& flooder = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_TRUE(harness.run_until([&] { return flooder.link_up(); }));
  ask_often(harness, flooder, good_capabilities().SerializeAsString(), 200);
  std::size_t hosts_max = 0;
  harness.run_until(
      [&] {
        hosts_max = std::max(hosts_max, harness.unit->hosts().size());
        return false;
      },
      Iou::kAttachInterval - 1ms);
  EXPECT_EQ(harness.count("iou.hosts.refused_often"), 199U);
  EXPECT_LE(hosts_max, 2U);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST(FloodTest, S001_08_the_bound_on_new_sessions_is_of_all_links_and_nics_together) {
  UnitHarness harness({.nics = 2});
  std::vector<TestHost*> hosts;
  for (std::uint32_t i = 0; i < 2 * Iou::kAttachesMax; ++i) {
    hosts.push_back(&harness.add_host({.nic = i % 2}));
  }
  const auto count_up = [&] { return std::ranges::count_if(hosts, &TestHost::up); };
  constexpr auto kMost = static_cast<std::ptrdiff_t>(Iou::kAttachesMax);
  ASSERT_TRUE(harness.run_until([&] { return std::ranges::all_of(hosts, &TestHost::link_up); }));
  for (TestHost* host : hosts) host->connect();
  harness.run(Iou::kAttachInterval - 1ms);
  EXPECT_EQ(count_up(), kMost);
  EXPECT_EQ(harness.unit->hosts().size(), Iou::kAttachesMax);
  EXPECT_EQ(harness.count("iou.hosts.refused_often"), Iou::kAttachesMax);
  // Within the interval no more of them are admitted.
  for (TestHost* host : hosts) {
    if (!host->up()) host->connect();
  }
  harness.iterate();
  EXPECT_EQ(harness.unit->hosts().size(), Iou::kAttachesMax);
  harness.run(Iou::kAttachInterval);
  for (TestHost* host : hosts) {
    if (!host->up()) host->connect();
  }
  harness.run(5ms);
  EXPECT_EQ(count_up(), 2 * kMost);
}

// A plain host asks again after 200 ms.
TEST(FloodTest, M_6_a_host_gets_in_while_eight_others_ask_all_the_time) {
  UnitHarness harness;
  std::vector<TestHost*> flooders;
  for (int i = 0; i < 8; ++i) flooders.push_back(&harness.add_host());
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.run_until(
      [&] { return host.link_up() && std::ranges::all_of(flooders, &TestHost::link_up); }));
  const std::string request = good_capabilities().SerializeAsString();
  const auto flood = [&](base::Duration span) {
    for (const base::Time end = harness.clock.now() + span; harness.clock.now() < end;) {
      for (TestHost* flooder : flooders) ask_often(harness, *flooder, request, 1);
      harness.run(1ms);
    }
  };
  flood(100ms);
  for (int tries = 0; tries < 10 && !host.up(); ++tries) {
    host.connect();
    flood(200ms);
  }
  EXPECT_TRUE(host.up());
}

// To look at one costs more than to send it.
TEST(FloodTest, H_4_M_6_requests_that_are_refused_for_another_reason_have_a_rate) {
  UnitHarness harness;
  TestHost& flooder = harness.add_host();
  ASSERT_TRUE(harness.run_until([&] { return flooder.link_up(); }));
  auto capabilities = good_capabilities();
  capabilities.set_nic(77);
  ask_often(harness, flooder, capabilities.SerializeAsString(), 500);
  harness.run(10ms);
  EXPECT_GE(harness.count("iou.hosts.refused_nic"), Iou::kRequestBurst);
  EXPECT_LE(harness.count("iou.hosts.refused_nic"), Iou::kRequestBurst + 2);
  EXPECT_GE(harness.count("iou.hosts.refused_often"), 500U - Iou::kRequestBurst - 2);
  TestHost& host = harness.add_host();
  EXPECT_TRUE(harness.attach(host, mac_number(1))) << "another host has a limit for itself";
}

TEST(FloodTest, a_host_that_was_rejected_for_it_is_admitted_when_it_asks_later) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.connect(host));
  harness.run(Iou::kAttachInterval);
  host.connect();
  ASSERT_TRUE(harness.run_until([&] { return host.up(); }, 10ms));
  host.connect();
  ASSERT_TRUE(harness.run_until([&] { return !host.refusal.empty(); }, 10ms));
  EXPECT_EQ(harness.count("iou.hosts.refused_often"), 1U);
  EXPECT_FALSE(host.up());
  harness.run(Iou::kAttachInterval);
  host.connect();
  EXPECT_TRUE(harness.run_until([&] { return host.up(); }));
}

TEST(FloodTest, what_is_refused_ends_no_session_and_builds_none) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.run(Iou::kAttachInterval);
  const AttachedHost* attached = harness.unit->hosts().at(0);
  ask_often(harness, host, "\xff\xff\xff", 1);
  auto capabilities = good_capabilities();
  capabilities.set_version_lowest(2);
  capabilities.set_version_highest(2);
  ask_often(harness, host, capabilities.SerializeAsString(), 1);
  capabilities = good_capabilities();
  capabilities.set_msg_max(0, 100);
  ask_often(harness, host, capabilities.SerializeAsString(), 1);
  capabilities = good_capabilities();
  capabilities.set_nic(1);
  ask_often(harness, host, capabilities.SerializeAsString(), 1);
  harness.run(5ms);
  EXPECT_EQ(harness.count("iou.hosts.refused_capabilities"), 3U);
  EXPECT_EQ(harness.count("iou.hosts.refused_nic"), 1U);
  ASSERT_EQ(harness.unit->hosts().size(), 1U);
  EXPECT_EQ(harness.unit->hosts()[0], attached);
  EXPECT_TRUE(host.up());
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  EXPECT_EQ(host.got.size(), 1U);
}

TEST(FloodTest, a_full_unit_lets_an_attached_host_reconnect) {
  UnitHarness harness({.hosts_max = 1});
  TestHost& host = harness.add_host();
  TestHost& other = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  EXPECT_FALSE(harness.connect(other));
  EXPECT_GE(harness.count("iou.hosts.refused_full"), 1U);
  EXPECT_TRUE(harness.connect(host));
}

TEST(FloodTest, B_04_a_smaller_number_of_hosts_ends_none_and_lets_no_other_in) {
  UnitHarness harness({.hosts_max = 3});
  TestHost& host = harness.add_host();
  TestHost& second = harness.add_host();
  TestHost& late = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  ASSERT_TRUE(harness.attach(second, mac_number(2)));
  harness.unit->set_hosts_max(1);
  EXPECT_FALSE(harness.connect(late));
  EXPECT_GE(harness.count("iou.hosts.refused_full"), 1U);
  EXPECT_EQ(late.refusal, "refused: no_resources (there are as many hosts as --max-hosts admits)");
  EXPECT_TRUE(host.up());
  EXPECT_TRUE(second.up());
  EXPECT_EQ(harness.count("iou.hosts.downs"), 0U);
  harness.unit->set_hosts_max(3);
  EXPECT_TRUE(harness.connect(late));
}

// The space left in the table is too small for one part of a connection after the other.
TEST(FloodTest, S001_08_a_full_memory_table_lets_nobody_in_and_harms_nobody) {
  UnitHarness harness;
  TestHost& inside = harness.add_host();
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(inside, mac_number(1)));
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }));
  fabric::Mrwt& table = harness.adapter->memory();
  std::array<std::byte, 64> room{};
  const fabric::PdId domain = harness.adapter->alloc_pd();
  std::vector<fabric::MemoryHandle> taken;
  while (const auto handle = table.regions().register_region(domain, room, fabric::kLocalRead)) {
    taken.push_back(*handle);
  }
  AttachedHost& first = *harness.unit->hosts().at(0);
  LanNic& owner = *harness.unit->nics()[0];
  fabric::Mgmt reply;
  EXPECT_EQ(
      AttachedHost({}, *harness.adapter, first.link(), harness.random, owner, harness.clock.now())
          .accept({}, {}, reply),
      fabric::MgmtReject::kNoResources);
  std::size_t refused = 0;
  for (; refused < 20; ++refused) {
    harness.run(Iou::kAttachIntervalOfLink);
    host.connect();
    ASSERT_TRUE(harness.run_until([&] { return host.up() || !host.refusal.empty(); }, 10ms));
    if (host.up()) break;
    EXPECT_TRUE(host.refusal.starts_with("refused: no_resources (the I/O unit is short of memory"))
        << host.refusal;
    EXPECT_EQ(harness.unit->hosts().size(), 1U) << refused;
    EXPECT_EQ(table.live_count(), table.entries_max() - refused) << "everything is released";
    ASSERT_TRUE(table.regions().deregister(taken.back()));
    taken.pop_back();
  }
  EXPECT_GT(refused, 2U) << "frames, messages and pools take one entry each";
  EXPECT_TRUE(host.up());
  EXPECT_EQ(harness.count("iou.hosts.refused_often"), 0U);
  harness.lan().queue(frame_of(mac_number(1), kPeer));
  harness.run(5ms);
  EXPECT_EQ(inside.got.size(), 1U);
}

TEST(FloodTest, F_51_a_request_that_arrives_in_the_last_iteration_of_a_stop_attaches_no_host) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.run_until([&] { return host.link_up(); }));
  host.connect();
  host.step();
  harness.unit->stop(harness.clock.now());
  EXPECT_TRUE(harness.unit->hosts().empty());
  EXPECT_EQ(harness.count("iou.hosts.refused_stop"), 1U);
  host.step();
  EXPECT_FALSE(host.up());
  EXPECT_NE(host.refusal.find("the I/O unit is stopping"), std::string::npos) << host.refusal;
}

TEST(FloodTest, S001_14_a_session_that_a_new_connection_ends_is_counted_too) {
  UnitHarness harness;
  TestHost& host = harness.add_host();
  ASSERT_TRUE(harness.attach(host, mac_number(1)));
  harness.run(Iou::kAttachInterval);
  harness.lan().writes_blocked = true;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(host.push(frame_of(kPeer, mac_number(1), i)));
  }
  harness.run(5ms);
  // The old process ends silently.
  ask_often(harness, host, good_capabilities().SerializeAsString(), 1);
  harness.lan().forget_refused();
  harness.run(5ms);
  EXPECT_EQ(harness.count("iou.from_host.frames"), 5U);
  EXPECT_EQ(harness.count("iou.from_host.drop.ended"), 5U);
}

}  // namespace
}  // namespace splitnic::iou::harness::flood_test
