// The limits of what nodes, switches and managers may do with LIDs that a manager gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "tests/unit/fabric_emul/switching/lids_world.h"

namespace splitnic::fabric {
namespace subnet_lids_rights_test {

using namespace subnet_world;

TEST(SubnetLidsTest, S004_19_P_SUBN_23_a_node_only_replies) {
  LidsWorld world(3);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  world.run(1s);
  const Switch& s1 = world.boxes.at("s1")->sw;
  const std::uint64_t route = world.count("s1", SubnetCounter::kDropRoute);
  const std::uint64_t subnet = s1.counters()[SwitchCounter::kDropSubnet];
  // Requests of a manager that is a node.
  send_from(world, "n1", Lid(), request_of(SmpMethod::kSet, SmpAttribute::kManager));
  send_from(world, "n1", Lid(), request_of(SmpMethod::kGet, SmpAttribute::kNode));
  send_from(world, "n1", Lid(), request_of(SmpMethod::kTrap, SmpAttribute::kNode));
  // A reply that did not begin at the node.
  Smp late = request_of(SmpMethod::kReply, SmpAttribute::kManager);
  late.route.hops = late.hop = 2;
  late.route.ports[1] = 1;
  send_from(world, "n1", Lid(), late);
  EXPECT_EQ(world.count("s1", SubnetCounter::kDropRoute), route + 4);
  // With a LID it is the SMP of a switch, and none is there.
  send_from(world, "n1", world.lid_of("n1"), request_of(SmpMethod::kReply, SmpAttribute::kManager));
  EXPECT_EQ(s1.counters()[SwitchCounter::kDropSubnet], subnet + 1);
  // One more than the switch takes of a node at a time.
  const std::uint64_t rate = s1.counters()[SwitchCounter::kDropMgmtRate];
  for (int i = 0; i < 200; ++i) {
    send_from(world, "n1", Lid(), request_of(SmpMethod::kGet, SmpAttribute::kNode));
  }
  EXPECT_GT(s1.counters()[SwitchCounter::kDropMgmtRate], rate);
  EXPECT_EQ(world.manager_of("s1"), Lid(1));
}

TEST(SubnetLidsTest, S004_19_P_SUBN_23_a_reply_of_a_node_takes_the_way_of_the_manager_only) {
  LidsWorld world(3);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  world.run(1s);
  const std::uint64_t smps = world.smps_at("n4");
  const PortLids lids{Lid(0x100), 0};
  std::array<std::byte, kSmpPortBodyBytes> body;
  Smp reply = request_of(SmpMethod::kReply, SmpAttribute::kPort,
                         base::Bytes(body).first(emit_smp_port(body, lids)));
  // n1 and n4 are at ports 3 and 4 of s1, which has the manager.
  std::uint64_t route = world.count("s1", SubnetCounter::kDropRoute);
  reply.route.hops = 2;
  reply.route.ports[1] = 4;
  send_from(world, "n1", Lid(), reply);
  // To and fro over a cable.
  reply.route.hops = kSmpHopsMax;
  for (std::size_t i = 1; i < kSmpHopsMax; ++i) reply.route.ports[i] = i % 2 == 1 ? 1 : 2;
  send_from(world, "n1", Lid(), reply);
  EXPECT_EQ(world.count("s1", SubnetCounter::kDropRoute), route + 2);
  EXPECT_EQ(world.smps_at("n4"), smps);
  EXPECT_EQ(world.node("n4").own_lids().base, world.lid_of("n4"));
  // n2 is at s2, from which s1 is behind one cable.
  route = world.count("s2", SubnetCounter::kDropRoute);
  const std::uint64_t passed = world.count("s2", SubnetCounter::kPassed);
  send_from(world, "n2", Lid(), reply);
  reply.route.hops = 2;
  for (std::uint8_t port = 1; port <= 3; ++port) {
    reply.route.ports[1] = port;
    send_from(world, "n2", Lid(), reply);
  }
  EXPECT_EQ(world.count("s2", SubnetCounter::kDropRoute), route + 3);
  EXPECT_EQ(world.count("s2", SubnetCounter::kPassed), passed + 1);
}

TEST(SubnetLidsTest, S004_19_P_SUBN_25_a_node_that_takes_other_lids_is_unset) {
  LidsWorld world(3);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  ASSERT_TRUE(world.run_until(1s, [&] { return world.state_of("n1") == SmpNode::PortState::kUp; }));
  const PortLids lids{Lid(0x100), 0};
  std::array<std::byte, kSmpPortBodyBytes> body;
  send_from(world, "n1", Lid(),
            request_of(SmpMethod::kReply, SmpAttribute::kPort,
                       base::Bytes(body).first(emit_smp_port(body, lids))));
  EXPECT_EQ(world.state_of("n1"), SmpNode::PortState::kUnset);
  EXPECT_TRUE(world.run_until(1s, [&] { return world.state_of("n1") == SmpNode::PortState::kUp; }))
      << "the next sweep finds it";
  EXPECT_EQ(world.node("n1").own_lids().base, world.lid_of("n1"));
}

TEST(SubnetLidsTest, S004_19_P_SUBN_23_a_switch_passes_nothing_of_another_manager_to_a_node) {
  LidsWorld world(3);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(4s, [&] { return world.are_all_attached(); }));
  world.run(1s);
  SubnetAgent& agent = *world.boxes.at("s2")->agent;
  const PortLids lids{Lid(0x100), 0};
  std::array<std::byte, kSmpPortBodyBytes> body;
  Smp set = request_of(SmpMethod::kSet, SmpAttribute::kPort,
                       base::Bytes(body).first(emit_smp_port(body, lids)));
  set.route.ports[0] = 3;
  for (const ManagerId& id : {ManagerId{Lid(3), 255}, ManagerId{Lid(1), 6}}) {
    set.manager = id;
    EXPECT_FALSE(agent.send(set));
  }
  set.manager = {Lid(1), 5};
  set.route.hops = 2;  // through the node
  EXPECT_FALSE(agent.send(set));
  world.run(100ms);
  EXPECT_EQ(world.node("n2").own_lids().base, world.lid_of("n2"));
  set.route.hops = 1;
  set.method = SmpMethod::kReply;
  EXPECT_FALSE(agent.send(set)) << "a node asks nothing";
  set.method = SmpMethod::kSet;
  EXPECT_TRUE(agent.send(set)) << "that is how the manager in force sends it";
  world.run(100ms);
  EXPECT_EQ(world.node("n2").own_lids().base, lids.base);
}

TEST(SubnetLidsTest, S004_19_P_SUBN_20_a_switch_takes_nothing_else_of_a_node_without_a_lid) {
  LidsWorld world(3);
  world.start_all("none", true);
  world.run(2s);
  const Switch& s1 = world.boxes.at("s1")->sw;
  const std::uint64_t source = s1.counters()[SwitchCounter::kDropSource];
  for (const Lid slid : {Lid(), world.lid_of("n1"), Lid(1)}) {
    ASSERT_TRUE(link_world::write(world.hop_of("n1"), switch_world::cell(slid, Lid(1), 64, 1)));
    ASSERT_TRUE(
        link_world::write(world.hop_of("n1"), switch_world::cell(slid, world.lid_of("n4"), 64, 1)));
    world.settle();
  }
  EXPECT_EQ(s1.counters()[SwitchCounter::kDropSource], source + 6);
}

TEST(SubnetLidsTest, S004_19_P_SUBN_22_a_switch_with_other_nodes_in_its_file_takes_no_lids) {
  const Topology file = managed_ring(3);
  Topology other = file;
  other.nodes.back().name = "n9";
  base::SeededRandom random{1};
  Switch sw(plan_of(other, "s2").value(), random);
  SubnetAgent agent(sw, Eui64(5));
  struct Taker final : SubnetAgent::Manager {
    void on_smp(const Smp& smp) override { status = smp.status; }
    SmpStatus status = SmpStatus::kBad;
  } taker;
  agent.set_manager_here(&taker);
  const auto send = [&](SmpMethod method, SmpAttribute attribute, const SmpLids* lids,
                        ManagerId from = {Lid(1), 5}) {
    std::array<std::byte, kSmpBytesMax> body;
    Smp smp;
    smp.method = method;
    smp.attribute = attribute;
    smp.manager = from;
    if (lids != nullptr) smp.body = base::Bytes(body).first(emit_smp_lids(body, *lids));
    agent.send(smp);
    return taker.status;
  };
  const SmpLids part = LidParts(lids_of(file)).part(0);
  EXPECT_EQ(send(SmpMethod::kSet, SmpAttribute::kLids, &part), SmpStatus::kRefused)
      << "it obeys nobody yet";
  ASSERT_EQ(send(SmpMethod::kSet, SmpAttribute::kManager, nullptr), SmpStatus::kDone);
  EXPECT_EQ(send(SmpMethod::kSet, SmpAttribute::kLids, &part, {Lid(3), 1}), SmpStatus::kRefused);
  EXPECT_EQ(send(SmpMethod::kSet, SmpAttribute::kLids, &part), SmpStatus::kStale);
  EXPECT_EQ(sw.plan().nodes.begin()->second.base, Lid());
  const SmpLids right = LidParts(lids_of(other)).part(0);
  EXPECT_EQ(send(SmpMethod::kSet, SmpAttribute::kLids, &right), SmpStatus::kDone);
  EXPECT_EQ(sw.plan().nodes.find("n9")->second, lids_of(other).at("n9"));
  // They stay until it starts again.
  NodeLids moved = lids_of(other);
  moved.at("n9").base = Lid(0x200);
  const SmpLids later = LidParts(moved).part(0);
  EXPECT_EQ(send(SmpMethod::kSet, SmpAttribute::kLids, &later), SmpStatus::kBad);
  EXPECT_EQ(send(SmpMethod::kSet, SmpAttribute::kLids, &right), SmpStatus::kDone);
  EXPECT_EQ(sw.plan().nodes.find("n9")->second, lids_of(other).at("n9"));
  agent.set_manager_here(nullptr);
}

TEST(SubnetLidsTest, S004_19_P_SUBN_22_a_node_that_init_gave_a_lid_takes_none) {
  World world(ring(3), World::Nodes::kAttached);
  world.start_all("s1", true);
  ASSERT_TRUE(world.run_until(3s, [&] { return world.are_all_attached(); }));
  world.run(1s);
  // As the manager in s1 asks n1, in place of that.
  SubnetAgent& agent = *world.boxes.at("s1")->agent;
  struct Taker final : SubnetAgent::Manager {
    void on_smp(const Smp& smp) override {
      if (smp.transaction != 77) return;
      reply = smp;
      parse_smp_port(smp.body, lids);
    }
    std::optional<Smp> reply;
    PortLids lids;
  } taker;
  agent.set_manager_here(&taker);
  const PortLids lids{Lid(0x100), 0};
  std::array<std::byte, kSmpPortBodyBytes> body;
  Smp set = request_of(SmpMethod::kSet, SmpAttribute::kPort,
                       base::Bytes(body).first(emit_smp_port(body, lids)));
  set.route.ports[0] = 3;
  EXPECT_TRUE(agent.send(set));
  world.run(50ms);
  agent.set_manager_here(nullptr);
  ASSERT_TRUE(taker.reply);
  EXPECT_EQ(taker.reply->status, SmpStatus::kBad);
  EXPECT_EQ(taker.lids, PortLids());
  EXPECT_EQ(world.attached.at("n1")->attachment.own_lids().base, world.lid_of("n1"));
}

}  // namespace subnet_lids_rights_test
}  // namespace splitnic::fabric
