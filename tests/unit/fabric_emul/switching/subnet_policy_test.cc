// The subnet manager gives switches their lanes and partitions by management cells, and changes
// them while cells flow.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "fabric_emul/switching/switch_lanes.h"
#include "fabric_emul/wire/smp_policy.h"
#include "tests/unit/fabric_emul/switching/lids_world.h"

namespace splitnic::fabric {
namespace subnet_policy_test {

using namespace subnet_world;

constexpr PartitionKey kOffice(0x8001), kLab(0x8002);
constexpr SlToLane kAllOnLane3{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};

// n1 and n2 are in the office, n3 and n4 in the lab; n1 and n4 are at s1.
Topology office_and_lab_of_manager() {
  Topology t = ring(3);
  t.policy_from = GivenBy::kManager;
  for (std::size_t i = 0; i < 4; ++i) t.nodes[i].partitions = {i < 2 ? kOffice : kLab};
  t.switches[0].lanes = kAllOnLane3;
  return t;
}

struct PolicyWorld : World {
  PolicyWorld() : World(office_and_lab_of_manager()) {}
  bool reaches_in(PartitionKey key, const std::string& from, const std::string& to) {
    const auto cell = switch_world::cell_with(lid_of(from), lid_of(to), 64, ++last_psn,
                                              [&](CellHead& head) { head.header.partition = key; });
    const std::size_t before = nodes.at(to)->cells.size();
    EXPECT_TRUE(link_world::write(nodes.at(from)->link(), cell));
    settle();
    return nodes.at(to)->cells.size() == before + 1;
  }
  std::uint64_t policies_of(const std::string& name) { return count(name, SubnetCounter::kPolicy); }
  bool have_all(std::uint64_t policies) {
    return policies_of("s1") == policies && policies_of("s2") == policies &&
           policies_of("s3") == policies;
  }
  std::uint64_t drops_of(const std::string& name) {
    return boxes.at(name)->sw.counters()[SwitchCounter::kDropPartition];
  }
};

TEST(SubnetPolicyTest, P_SUBN_27_a_switch_without_a_policy_passes_nothing_of_nodes) {
  PolicyWorld world;
  world.start_all("none");
  world.run(2s);
  const std::uint64_t dropped = world.drops_of("s1");
  for (const PartitionKey key : {kOffice, kLab, kDefaultPartition, PartitionKey(0)}) {
    EXPECT_FALSE(world.reaches_in(key, "n1", "n2"));
    EXPECT_FALSE(world.reaches_in(key, "n1", "n4")) << "they are at one switch";
  }
  EXPECT_EQ(world.drops_of("s1"), dropped + 8);
  // Nor to them, from a switch that has its policy.
  world.boxes.at("s1")->sw.set_policy(SwitchPolicy());  // without partitions
  const std::uint64_t at_s2 = world.drops_of("s2");
  EXPECT_FALSE(world.reaches_in(kOffice, "n1", "n2"));
  EXPECT_EQ(world.drops_of("s2"), at_s2 + 1);
}

TEST(SubnetPolicyTest, S004_19_S004_20_S004_21_lanes_and_partitions_come_from_the_manager) {
  PolicyWorld world;
  // In the files of the others there is none.
  Topology bare = world.file;
  for (Topology::Node& node : bare.nodes) node.partitions.clear();
  bare.switches[0].lanes = kLaneOfSl;
  world.start_by("s1", bare);
  world.start_by("s3", bare);
  world.start("s2", 5);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.have_all(1); }));
  EXPECT_TRUE(world.run_until(2s, [&] { return world.has_tables_without({}); }));
  EXPECT_TRUE(world.reaches_in(kOffice, "n1", "n2"));
  EXPECT_TRUE(world.reaches_in(kLab, "n4", "n3"));
  for (const PartitionKey key : {kOffice, kLab, kDefaultPartition}) {
    EXPECT_FALSE(world.reaches_in(key, "n1", "n4"));
    EXPECT_FALSE(world.reaches_in(key, "n2", "n3"));
  }
  for (const Topology::Switch& one : world.file.switches) {
    EXPECT_EQ(world.boxes.at(one.name)->sw.plan().lanes, one.lanes) << one.name;
  }
  // Each sweep compares the check, and sets nothing.
  const std::uint64_t served = world.count("s3", SubnetCounter::kServed);
  world.run(2s);
  EXPECT_TRUE(world.have_all(1));
  EXPECT_LE(world.count("s3", SubnetCounter::kServed), served + 5 * 4);
}

TEST(SubnetPolicyTest, S004_20_a_node_changes_its_partition_while_cells_flow) {
  PolicyWorld world;
  world.start_all("s1");
  ASSERT_TRUE(world.run_until(2s, [&] { return world.have_all(1); }));
  ASSERT_TRUE(world.run_until(2s, [&] { return world.has_tables_without({}); }));
  Topology changed = world.file;
  changed.nodes[1].partitions = {kLab};
  const std::uint64_t rounds = world.count("s1", SubnetCounter::kRound);
  world.boxes.at("s1")->manager->set_policy(changed);
  ASSERT_TRUE(world.run_until(100ms, [&] { return world.policies_of("s2") == 2; }));
  EXPECT_FALSE(world.reaches_in(kOffice, "n1", "n2"));
  EXPECT_TRUE(world.reaches_in(kLab, "n3", "n2"));
  EXPECT_TRUE(world.reaches_in(kLab, "n2", "n3"));
  EXPECT_EQ(world.policies_of("s1") + world.policies_of("s3"), 2U) << "theirs is as before";
  EXPECT_EQ(world.count("s1", SubnetCounter::kRound), rounds) << "no table changes";
  // At any moment of a sweep.
  for (int i = 0; i < 200; ++i) {
    world.boxes.at("s1")->manager->set_policy(i % 2 == 0 ? world.file : changed);
    for (int step = 0; step < i % 23; ++step) world.iterate();
    world.clock.advance(i % 3 == 0 ? 3ms : 11ms);
  }
  world.run(100ms);
  EXPECT_TRUE(world.reaches_in(kLab, "n3", "n2"));
  EXPECT_FALSE(world.reaches_in(kOffice, "n1", "n2"));
  EXPECT_EQ(world.count("s1", SubnetCounter::kRound), rounds) << "no switch was left out";
}

TEST(SubnetPolicyTest, P_SUBN_28_a_policy_outlives_the_manager_and_not_the_switch) {
  PolicyWorld world;
  world.start_all("s3");
  ASSERT_TRUE(world.run_until(2s, [&] { return world.have_all(1); }));
  ASSERT_TRUE(world.run_until(2s, [&] { return world.has_tables_without({}); }));
  world.kill("s3");
  world.run(3s);
  EXPECT_EQ(world.manager_of("s2"), std::nullopt);
  EXPECT_TRUE(world.reaches_in(kOffice, "n1", "n2"));
  EXPECT_FALSE(world.reaches_in(kLab, "n1", "n2"));
  EXPECT_FALSE(world.reaches_in(kLab, "n4", "n2"));
  world.kill("s2");
  world.start("s2");
  world.run(1s);
  EXPECT_FALSE(world.boxes.at("s2")->sw.plan().has_policy);
  world.start("s3", 5);
  EXPECT_TRUE(world.run_until(3s, [&] { return world.boxes.at("s2")->sw.plan().has_policy; }));
  EXPECT_TRUE(world.run_until(3s, [&] {
    return world.nodes.at("n2")->link().up() && world.reaches_in(kOffice, "n1", "n2");
  }));
}

// Node ports whose nodes the file of the manager does not have are not open.
TEST(SubnetPolicyTest, S004_20_a_switch_with_nodes_that_the_manager_does_not_know_stays_shut) {
  PolicyWorld world;
  world.start_all("none");
  world.manage_by("s2", without_node(world.file, "n3"));
  ASSERT_TRUE(world.run_until(2s, [&] { return world.policies_of("s1") == 1; }));
  world.run(2s);
  EXPECT_EQ(world.policies_of("s3"), 0U);
  EXPECT_FALSE(world.boxes.at("s2")->manager->found().contains("s3"));
  for (const PartitionKey key : {kOffice, kLab, kDefaultPartition})
    EXPECT_FALSE(world.reaches_in(key, "n3", "n1"));
}

TEST(SubnetPolicyTest, S004_20_a_policy_of_several_parts_arrives_through_loss) {
  Topology t = ring(3);
  t.policy_from = GivenBy::kManager;
  for (std::uint8_t port = 5; port < 13; ++port) {
    const auto lid = static_cast<std::uint16_t>(200 + port);
    t.nodes.push_back({"m" + std::to_string(port), Lid(lid), {"s3", port}});
  }
  std::uint16_t key = 0x8001;
  for (Topology::Node& node : t.nodes) {
    for (std::size_t i = 0; i < PartitionTable::kKeysMax; ++i)
      node.partitions.push_back(PartitionKey(key++));
  }
  World world(t);
  for (auto& [place, wire] : world.wires) wire->smp_loss_ppm = 300'000;
  world.start_all("s1");
  ASSERT_GT(policy_parts(emit_policy(policies_of(t).at("s3")).size()), 1U);
  ASSERT_TRUE(world.run_until(20s, [&] { return world.boxes.at("s3")->sw.plan().has_policy; }));
  for (const Topology::Node& node : t.nodes) {
    if (node.at.of_switch != "s3") continue;
    EXPECT_EQ(world.boxes.at("s3")->sw.plan().ports.at(node.at.port).partitions, node.partitions);
  }
  EXPECT_GT(world.count("s1", SubnetCounter::kRepeat), 0U);
}

// Who takes over sets what its file has.
TEST(SubnetPolicyTest, S004_20_a_standby_sets_the_policy_of_its_file) {
  PolicyWorld world;
  world.start("s1", 7);
  world.start("s2");
  world.start("s3", 5);
  ASSERT_TRUE(world.run_until(2s, [&] { return world.have_all(1); }));
  Topology changed = world.file;
  changed.nodes[1].partitions = {kLab};
  world.boxes.at("s3")->manager->set_policy(changed);
  world.run(1s);
  EXPECT_EQ(world.policies_of("s2"), 1U) << "it stands by";
  world.kill("s1");
  EXPECT_TRUE(world.run_until(5s, [&] { return world.policies_of("s2") == 2; }));
  EXPECT_TRUE(world.run_until(2s, [&] { return world.reaches_in(kLab, "n3", "n2"); }));
}

TEST(SubnetPolicyTest, P_SUBN_29_a_switch_with_a_policy_in_its_file_is_not_part_of_what_is_up) {
  PolicyWorld world;
  Topology other = world.file;
  other.policy_from = GivenBy::kFile;
  world.start("s1", 5);
  world.start("s2");
  world.start_by("s3", other);
  world.run(3s);
  EXPECT_EQ(world.boxes.at("s1")->manager->found().size(), 2U);
  EXPECT_FALSE(world.boxes.at("s1")->manager->found().contains("s3"));
  EXPECT_EQ(world.policies_of("s3"), 0U);
  EXPECT_TRUE(world.reaches_in(kOffice, "n1", "n2"));
  world.kill("s3");
  world.start("s3");
  EXPECT_TRUE(world.run_until(3s, [&] { return world.policies_of("s3") == 1; }));
  EXPECT_TRUE(world.run_until(3s, [&] { return world.has_tables_without({}); }));
}

// One switch with eight nodes of 16 partitions each: a policy of two parts.
class PolicyAgentTest : public ::testing::Test, private SubnetAgent::Manager {
 protected:
  PolicyAgentTest() { agent.set_manager_here(this); }
  ~PolicyAgentTest() override { agent.set_manager_here(nullptr); }

  static Topology file() {
    Topology t;
    t.policy_from = GivenBy::kManager;
    t.switches = {{"s", Lid(1)}, {"t", Lid(2)}};
    t.cables = {{{"s", 9}, {"t", 1}}};
    for (std::uint8_t port = 1; port <= 8; ++port) {
      Topology::Node node{
          "n" + std::to_string(port), Lid(static_cast<std::uint16_t>(10 + port)), {"s", port}};
      for (std::uint16_t key = 0; key < PartitionTable::kKeysMax; ++key)
        node.partitions.push_back(
            PartitionKey(static_cast<std::uint16_t>(0x8100 + 16 * port + key)));
      t.nodes.push_back(node);
    }
    return t;
  }
  SmpStatus send(SmpMethod method, SmpAttribute attribute, base::Bytes body = {},
                 ManagerId from = {Lid(1), 5}) {
    Smp smp;
    smp.method = method;
    smp.attribute = attribute;
    smp.manager = from;
    smp.body = body;
    agent.send(smp);
    return status;
  }
  SmpStatus obey(ManagerId manager = {Lid(1), 5}) {
    return send(SmpMethod::kSet, SmpAttribute::kManager, {}, manager);
  }
  SmpStatus set(base::Bytes bytes, std::size_t part, ManagerId from = {Lid(1), 5},
                std::uint32_t check_change = 0) {
    std::array<std::byte, kSmpBytesMax> body;
    const SmpPolicy one = policy_part(bytes, base::crc32c(bytes) + check_change, part);
    return send(SmpMethod::kSet, SmpAttribute::kPolicy,
                base::Bytes(body).first(emit_smp_policy(body, one)), from);
  }
  // The reply to GET has what is in force.
  SmpPolicy in_force() {
    std::array<std::byte, kSmpBytesMax> body;
    EXPECT_EQ(send(SmpMethod::kGet, SmpAttribute::kPolicy,
                   base::Bytes(body).first(emit_smp_policy(body, {}))),
              SmpStatus::kDone);
    return reply;
  }

  base::SeededRandom random{1};
  Switch sw{plan_of(file(), "s").value(), random};
  SubnetAgent agent{sw, Eui64(5)};
  const SwitchPolicy policy = policies_of(file()).at("s");
  const std::vector<std::byte> whole = emit_policy(policy);

 private:
  void on_smp(const Smp& smp) override {
    status = smp.status;
    if (smp.attribute == SmpAttribute::kPolicy) {
      EXPECT_EQ(parse_smp_policy(smp.body, reply), SmpError::kNone);
    }
  }
  SmpStatus status = SmpStatus::kBad;
  SmpPolicy reply;
};

TEST_F(PolicyAgentTest, S004_20_P_SUBN_28_it_comes_into_force_as_a_whole_and_of_the_manager_only) {
  ASSERT_EQ(policy_parts(whole.size()), 2U);
  EXPECT_EQ(set(whole, 0), SmpStatus::kRefused) << "it obeys nobody yet";
  ASSERT_EQ(obey(), SmpStatus::kDone);
  EXPECT_EQ(set(whole, 0, {Lid(2), 1}), SmpStatus::kRefused);
  EXPECT_EQ(in_force().count, 0U);
  // In any order, and as often as they come.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(set(whole, 1), SmpStatus::kDone);
  EXPECT_FALSE(sw.plan().has_policy);
  EXPECT_EQ(set(whole, 0), SmpStatus::kDone);
  EXPECT_TRUE(sw.plan().has_policy);
  EXPECT_EQ(sw.plan().ports[8].partitions, policy.ports[7].keys);
  EXPECT_EQ(in_force().count, whole.size());
  EXPECT_EQ(in_force().check, base::crc32c(whole));
  EXPECT_EQ(agent.counters()[SubnetCounter::kPolicy], 1U);
  // A repeated part is done already.
  EXPECT_EQ(set(whole, 1), SmpStatus::kDone);
  EXPECT_EQ(agent.counters()[SubnetCounter::kPolicy], 1U);
  // A better manager has to send all parts of what it sets.
  SwitchPolicy other = policy;
  other.lanes = kAllOnLane3;
  const std::vector<std::byte> changed = emit_policy(other);
  EXPECT_EQ(set(changed, 0), SmpStatus::kDone);
  const ManagerId better{Lid(2), 9};
  ASSERT_EQ(obey(better), SmpStatus::kDone);
  EXPECT_EQ(set(changed, 1, better), SmpStatus::kDone);
  EXPECT_EQ(sw.plan().lanes, policy.lanes);
  EXPECT_EQ(set(changed, 0, better), SmpStatus::kDone);
  EXPECT_EQ(sw.plan().lanes, kAllOnLane3);
}

TEST_F(PolicyAgentTest,
       S004_20_P_SUBN_28_what_is_not_whole_or_not_for_this_switch_changes_nothing) {
  ASSERT_EQ(obey(), SmpStatus::kDone);
  EXPECT_EQ(set(whole, 0, {Lid(1), 5}, 1), SmpStatus::kDone);
  EXPECT_EQ(set(whole, 1, {Lid(1), 5}, 1), SmpStatus::kStale) << "the check is wrong";
  const auto is_bad = [&](auto&& change) {
    SwitchPolicy other = policy;
    change(other);
    const std::vector<std::byte> bytes = emit_policy(other);
    SmpStatus last = SmpStatus::kDone;
    for (std::size_t part = 0; part < policy_parts(bytes.size()); ++part) last = set(bytes, part);
    return last == SmpStatus::kBad && !sw.plan().has_policy && in_force().count == 0;
  };
  EXPECT_TRUE(is_bad([](SwitchPolicy& p) { p.lanes[15] = kDataLanes; }));
  EXPECT_TRUE(is_bad([](SwitchPolicy& p) { p.ports.pop_back(); })) << "a node without keys";
  EXPECT_TRUE(is_bad([](SwitchPolicy& p) { p.ports.clear(); })) << "all of them";
  EXPECT_TRUE(is_bad([](SwitchPolicy& p) { p.ports.back().number = 9; })) << "that of a cable";
  EXPECT_TRUE(is_bad([](SwitchPolicy& p) {
    p.ports.push_back({10, {kOffice}});
  })) << "nobody is there";
  std::vector<std::byte> longer = emit_policy(SwitchPolicy());
  longer.push_back(std::byte{0});
  EXPECT_EQ(set(longer, 0), SmpStatus::kBad) << "a byte behind the end";
  // Without partitions all cells pass.
  EXPECT_EQ(set(emit_policy(SwitchPolicy()), 0), SmpStatus::kDone);
  EXPECT_TRUE(sw.plan().has_policy);
  EXPECT_TRUE(sw.plan().ports[1].partitions.empty());
}

TEST(SubnetPolicyTest, P_SUBN_29_a_switch_whose_file_has_a_policy_refuses_another) {
  base::SeededRandom random{1};
  Topology t = office_and_lab_of_manager();
  t.policy_from = GivenBy::kFile;
  Switch sw(plan_of(t, "s2").value(), random);
  SubnetAgent agent(sw, Eui64(5));
  struct Taker final : SubnetAgent::Manager {
    void on_smp(const Smp& smp) override { status = smp.status; }
    std::optional<SmpStatus> status;
  } taker;
  agent.set_manager_here(&taker);
  Smp obey = request_of(SmpMethod::kSet, SmpAttribute::kManager);
  obey.route = {};
  agent.send(obey);
  ASSERT_EQ(taker.status, SmpStatus::kDone);
  std::array<std::byte, kSmpBytesMax> body;
  const std::vector<std::byte> whole = emit_policy(policies_of(t).at("s2"));
  const SmpPolicy part = policy_part(whole, base::crc32c(whole), 0);
  for (const bool sets : {false, true}) {
    const std::size_t bytes = emit_smp_policy(body, sets ? part : SmpPolicy());
    Smp smp = request_of(sets ? SmpMethod::kSet : SmpMethod::kGet, SmpAttribute::kPolicy,
                         base::Bytes(body).first(bytes));
    smp.route = {};
    taker.status.reset();
    agent.send(smp);
    EXPECT_EQ(taker.status, SmpStatus::kBad);
  }
  EXPECT_EQ(sw.plan().ports[3].partitions, std::vector{kOffice});
  agent.set_manager_here(nullptr);
}

}  // namespace subnet_policy_test
}  // namespace splitnic::fabric
