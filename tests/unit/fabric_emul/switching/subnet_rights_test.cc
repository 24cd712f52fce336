// Tests the right to manage: switches have it by their cables, and of managers the best has it.
// Everything that does not agree with the topology file is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace subnet_rights_test {

using namespace subnet_world;

// Writes an SMP as a hostile node does.
void send_as(World& world, const std::string& node, Lid to, const Smp& smp) {
  std::array<std::byte, kSmpBytesMax> bytes;
  Link& link = world.nodes.at(node)->link();
  ASSERT_TRUE(send_path_cell(link, world.lid_of(node), to, kSubnetQpn,
                             base::Bytes(bytes).first(emit_smp(bytes, smp))));
  world.nodes.at(node)->port.flush(world.clock.now());
  world.settle();
}

Smp set_manager(Lid lid) {
  Smp smp;
  smp.method = SmpMethod::kSet;
  smp.attribute = SmpAttribute::kManager;
  smp.manager = {lid, 255};
  smp.route.hops = 1;
  smp.route.ports[0] = 1;
  smp.hop = 1;
  return smp;
}

TEST(SubnetRightsTest, P_SUBN_3_a_node_that_sends_management_cells_is_refused_and_changes_nothing) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  std::array<std::byte, kSmpBytesMax> body;
  SmpTable part;
  const TableBlock ports{};
  part.stage = SmpTable::Stage::kSet;
  part.parts = 1;
  part.check = check_of(ForwardingTables());
  part.ports = ports;
  Smp set = set_manager(Lid(1));
  set.attribute = SmpAttribute::kTable;
  set.body = base::Bytes(body).first(emit_smp_table(body, part));
  const std::uint64_t served = world.count("s2", SubnetCounter::kServed);
  // To its own switch, and to one behind a cable.
  send_as(world, "n2", Lid(2), set_manager(Lid(3)));
  send_as(world, "n2", Lid(2), set);
  send_as(world, "n1", Lid(2), set_manager(Lid(3)));
  send_as(world, "n1", Lid(2), set);
  EXPECT_EQ(world.boxes.at("s2")->sw.counters()[SwitchCounter::kDropSubnet], 4U);
  EXPECT_EQ(world.count("s2", SubnetCounter::kServed), served);
  EXPECT_EQ(world.manager_of("s2"), Lid(1));
  EXPECT_TRUE(world.has_tables_without({}));
  EXPECT_TRUE(world.nodes.at("n1")->cells.empty() && world.nodes.at("n2")->cells.empty());
}

Topology ring_with(TablesPer per) {
  Topology topology = ring(3);
  topology.tables_per = per;
  return topology;
}

// A port of a lone switch whose cable leads to what a test drives.
struct Cabled {
  explicit Cabled(TablesPer per = TablesPer::kSwitch)
      : topology(ring_with(per)), sw(plan_of(topology, "s2").value(), random) {
    agent.emplace(sw, Eui64(5));
  }
  // As the manager in this switch would: a request without hops.
  SmpStatus request(ManagerId from, SmpMethod method, SmpAttribute attribute,
                    base::Bytes body = {}) {
    struct Taker final : SubnetAgent::Manager {
      void on_smp(const Smp& smp) override { status = smp.status; }
      SmpStatus status = SmpStatus::kBad;
    } taker;
    agent->set_manager_here(&taker);
    Smp smp;
    smp.method = method;
    smp.attribute = attribute;
    smp.manager = from;
    smp.body = body;
    agent->send(smp);
    agent->set_manager_here(nullptr);
    return taker.status;
  }
  SmpStatus set_manager(ManagerId id) {
    return request(id, SmpMethod::kSet, SmpAttribute::kManager);
  }
  SmpStatus set_table(ManagerId from, const ForwardingTables& tables, std::uint32_t changes,
                      std::uint32_t check, std::uint8_t input = kNoInput) {
    std::array<std::byte, kSmpTableBytes + kSmpBlockLids> body;
    SmpTable part;
    part.input = input;
    part.stage = SmpTable::Stage::kSet;
    part.parts = 1;
    part.changes = changes;
    part.check = check;
    const TableBlock ports = block_of(tables.of(input), 0);
    part.ports = ports;
    return request(from, SmpMethod::kSet, SmpAttribute::kTable,
                   base::Bytes(body).first(emit_smp_table(body, part)));
  }

  base::SeededRandom random{1};
  Topology topology;
  Switch sw;
  std::optional<SubnetAgent> agent;
};

TEST(SubnetRightsTest, P_SUBN_5_a_switch_obeys_the_best_manager_until_it_is_silent) {
  Cabled one;
  const ManagerId low{Lid(1), 1}, same{Lid(3), 1}, high{Lid(3), 2};
  EXPECT_EQ(one.agent->manager(), std::nullopt);
  EXPECT_EQ(one.set_manager(same), SmpStatus::kDone);
  EXPECT_EQ(one.set_manager(low), SmpStatus::kDone) << "the same priority, a lower LID";
  EXPECT_EQ(one.set_manager(same), SmpStatus::kRefused);
  EXPECT_EQ(one.set_manager(high), SmpStatus::kDone);
  EXPECT_EQ(one.set_manager(low), SmpStatus::kRefused);
  EXPECT_EQ(one.agent->manager(), high);
  one.agent->step(base::Time{} + SubnetAgent::kSilentAfter);
  EXPECT_EQ(one.set_manager(low), SmpStatus::kRefused);
  one.agent->step(base::Time{} + SubnetAgent::kSilentAfter + 1ms);
  EXPECT_EQ(one.agent->manager(), std::nullopt);
  EXPECT_EQ(one.set_manager(low), SmpStatus::kDone);
}

TEST(SubnetRightsTest, P_SUBN_5_a_manager_is_a_switch_of_the_topology_file) {
  Cabled one;
  EXPECT_EQ(one.set_manager({Lid(0), 1}), SmpStatus::kBad);
  EXPECT_EQ(one.set_manager({Lid(77), 1}), SmpStatus::kBad) << "in no file";
  EXPECT_EQ(one.set_manager({Lid(101), 1}), SmpStatus::kBad) << "a node";
  EXPECT_EQ(one.set_manager({Lid(2), 1}), SmpStatus::kDone);
  EXPECT_EQ(one.set_manager({Lid(3), 1}), SmpStatus::kRefused);
}

TEST(SubnetRightsTest, P_SUBN_6_a_table_comes_into_force_whole_or_not_at_all) {
  Cabled one;
  const ManagerId master{Lid(1), 5};
  const std::uint32_t before = check_of(one.sw.tables());
  ForwardingTables table;
  table.of(kNoInput).set(Lid(101), 2);
  const std::uint32_t check = check_of(table);
  EXPECT_EQ(one.set_table(master, table, 0, check), SmpStatus::kRefused) << "no manager yet";
  one.set_manager(master);
  EXPECT_EQ(one.set_table({Lid(3), 5}, table, 0, check), SmpStatus::kRefused);
  EXPECT_EQ(one.set_table(master, table, 1, check), SmpStatus::kStale) << "a link has changed";
  EXPECT_EQ(one.set_table(master, table, 0, check + 1), SmpStatus::kStale);
  ForwardingTables wrong = table;
  wrong.of(kNoInput).set(Lid(102), 9);  // the file has nothing there
  EXPECT_EQ(one.set_table(master, wrong, 0, check_of(wrong)), SmpStatus::kBad);
  wrong.of(kNoInput).set(Lid(102), 33);
  EXPECT_EQ(one.set_table(master, wrong, 0, check_of(wrong)), SmpStatus::kBad);
  EXPECT_EQ(check_of(one.sw.tables()), before);
  EXPECT_EQ(one.set_table(master, table, 0, check), SmpStatus::kDone);
  EXPECT_EQ(check_of(one.sw.tables()), check);
}

TEST(SubnetRightsTest, P_SUBN_19_a_switch_takes_tables_of_the_inputs_of_its_file_only) {
  const ManagerId master{Lid(1), 5};
  ForwardingTables tables(TablesPer::kInput);
  tables.of(3).set(Lid(101), 2);
  const std::uint32_t check = check_of(tables);
  Cabled one;
  one.set_manager(master);
  EXPECT_EQ(one.set_table(master, tables, 0, check, 3), SmpStatus::kBad) << "it has one table";
  Cabled each(TablesPer::kInput);
  each.set_manager(master);
  const std::uint32_t before = check_of(each.sw.tables());
  EXPECT_EQ(each.set_table(master, tables, 0, check, 4), SmpStatus::kBad) << "nothing is there";
  for (std::uint8_t input = 1; input <= 3; ++input) {
    EXPECT_EQ(each.set_table(master, tables, 0, check, input), SmpStatus::kDone);
    EXPECT_EQ(check_of(each.sw.tables()), before) << "they come into force as a whole";
  }
  EXPECT_EQ(each.set_table(master, tables, 0, check, kNoInput), SmpStatus::kDone);
  EXPECT_EQ(check_of(each.sw.tables()), check);
  EXPECT_EQ(each.sw.tables().port_of(Lid(101), 3), 2);
  EXPECT_EQ(each.sw.tables().port_of(Lid(101), 1), 0);
}

TEST(SubnetRightsTest, P_SUBN_7_a_switch_or_port_that_the_file_has_otherwise_is_refused) {
  const Topology file = ring(3);
  SubnetView view(file);
  const auto report = [](const Topology::Switch& from, Lid at_1, Lid at_3) {
    SmpNode node;
    node.name = from.name;
    node.lid = from.lid;
    node.port_count = 2;
    node.ports[0] = {1, SmpNode::PortState::kUp, at_1, Eui64(1)};
    node.ports[1] = {3, SmpNode::PortState::kUp, at_3, Eui64(3)};
    return node;
  };
  view.on_report(*view.find("s1"), report({"s1", Lid(1)}, Lid(2), Lid(101)));
  EXPECT_TRUE(view.is_up(PortPlace{"s1", 1}) && view.is_up(PortPlace{"s1", 3}));
  ASSERT_EQ(view.neighbours_of("s1").size(), 1U);
  EXPECT_EQ(view.neighbours_of("s1")[0].is->name, "s2");
  view.clear();
  view.on_report(*view.find("s1"), report({"s1", Lid(1)}, Lid(9), Lid(99)));
  EXPECT_FALSE(view.is_up(PortPlace{"s1", 1}) || view.is_up(PortPlace{"s1", 3}));
  EXPECT_TRUE(view.neighbours_of("s1").empty());
  view.clear();
  view.on_report(*view.find("s1"), report({"s1", Lid(9)}, Lid(2), Lid(101)));
  EXPECT_EQ(view.report_of("s1"), nullptr);
  view.on_report(*view.find("s1"), report({"other", Lid(1)}, Lid(2), Lid(101)));
  EXPECT_EQ(view.report_of("s1"), nullptr);
}

// A neighbour that passes on what it likes.
TEST(SubnetRightsTest, P_SUBN_2_what_no_route_explains_is_dropped) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  Switch& neighbour = world.boxes.at("s3")->sw;
  const auto inject = [&](std::uint8_t hop, std::vector<std::uint8_t> ports, std::size_t cut = 0) {
    Smp smp = set_manager(Lid(3));
    smp.hop = hop;
    smp.route.hops = static_cast<std::uint8_t>(ports.size());
    std::ranges::copy(ports, smp.route.ports.begin());
    std::array<std::byte, kSmpBytesMax> bytes;
    const std::size_t size = emit_smp(bytes, smp) - cut;
    EXPECT_TRUE(neighbour.send_smp(2, base::Bytes(bytes).first(size)));  // to s2
    world.settle();
  };
  const std::uint64_t routes = world.count("s2", SubnetCounter::kDropRoute);
  inject(0, {2});     // on no link
  inject(1, {2, 3});  // to a node
  inject(1, {2, 9});  // to nothing
  EXPECT_EQ(world.count("s2", SubnetCounter::kDropRoute) - routes, 3U);
  const std::uint64_t formats = world.count("s2", SubnetCounter::kDropFormat);
  inject(3, {2, 2});  // behind the end of the route
  inject(1, {33});    // no port
  inject(1, {2}, 1);  // cut off
  EXPECT_EQ(world.count("s2", SubnetCounter::kDropFormat) - formats, 3U);
  EXPECT_EQ(world.manager_of("s2"), Lid(1));
  EXPECT_TRUE(world.nodes.at("n2")->cells.empty());
}

// Takes the SMPs of a switch in place of its agent.
struct Tap final : SmpReceiver {
  void on_smp(std::uint8_t /*port*/, base::Bytes bytes) override {
    Smp smp;
    ASSERT_EQ(parse_smp(bytes, smp), SmpError::kNone);
    smp.body = {};
    kept.push_back(smp);
  }
  std::vector<Smp> kept;
};

// s2 is silent; s3, which passes SMPs of the ring on, replies for it.
TEST(SubnetRightsTest, P_SUBN_12_a_reply_comes_by_the_way_of_its_request_and_is_about_the_same) {
  Tap tap;
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  world.boxes.at("s2")->sw.set_smp_receiver(&tap);
  ASSERT_TRUE(world.run_until(1s, [&] { return !tap.kept.empty(); }));
  const Smp request = tap.kept.front();
  ASSERT_EQ(request.attribute, SmpAttribute::kManager);
  Smp reply = request;
  reply.method = SmpMethod::kReply;
  reply.hop = 1;
  const auto send = [&](const char* from, std::uint8_t port) {
    std::array<std::byte, kSmpBytesMax> bytes;
    const auto size = emit_smp(bytes, reply);
    EXPECT_TRUE(world.boxes.at(from)->sw.send_smp(port, base::Bytes(bytes).first(size)));
    world.run(80ms);
  };
  const auto repeats = [&] {
    return std::ranges::all_of(
        tap.kept, [&](const Smp& one) { return one.transaction == request.transaction; });
  };
  send("s3", 1);  // as s2, by the cable of s3
  EXPECT_TRUE(repeats());
  const std::size_t asked = tap.kept.size();
  reply.attribute = SmpAttribute::kNode;
  reply.status = SmpStatus::kBad;
  send("s2", 2);  // about something else
  EXPECT_TRUE(repeats());
  EXPECT_GT(tap.kept.size(), asked);
  reply.attribute = request.attribute;
  reply.status = SmpStatus::kDone;
  send("s2", 2);
  EXPECT_EQ(tap.kept.back().attribute, SmpAttribute::kNode) << "the next request";
}

}  // namespace subnet_rights_test
}  // namespace splitnic::fabric
