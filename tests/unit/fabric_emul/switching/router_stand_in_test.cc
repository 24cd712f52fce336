// Two routers in parallel between two subnets, each with a manager: what is for the LID of one goes
// by the other as long as it is down or cut off. End nodes know nothing of that.
#include <gtest/gtest.h>

#include "fabric_emul/switching/router.h"
#include "tests/unit/fabric_emul/switching/router_world.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace router_stand_in_test {

using namespace router_world;
namespace sw = subnet_world;

// Switch "s" with a node, and a cable each to the routers r1 and r2.
Topology between(std::uint8_t number, std::uint8_t other, const char* node, Lid lid,
                 std::vector<std::string> others) {
  Topology t;
  t.switches = {{"r1", Lid(1)}, {"r2", Lid(2)}, {"s", Lid(3)}};
  t.nodes = {{node, lid, {"s", 3}, {}}};
  t.cables = {{{"s", 1}, {"r1", number}}, {{"s", 2}, {"r2", number}}};
  t.network =
      Topology::Network{subnet(number), {{{subnet(other), 64}, "r1", std::move(others)}}, {}};
  return t;
}

struct RouterStandIn : ::testing::Test {
  explicit RouterStandIn(std::vector<std::string> others = {"r2"})
      : a(between(1, 2, "h", Lid(11), others)), b(between(2, 1, "u", Lid(20), others)) {
    for (const char* name : {"s", "r1", "r2"}) start(name);
    run(3s);
  }
  void start(const std::string& name) {
    const auto priority = name == "s" ? std::optional(5) : std::nullopt;
    a.start(name, priority);
    b.start(name, priority);
    if (name == "s") return;
    const std::array<Switch*, 2> both{&a.boxes.at(name)->sw, &b.boxes.at(name)->sw};
    routers[name] = std::make_unique<Router>(both);
  }
  void kill(const std::string& router) {
    routers.erase(router);
    a.kill(router);
    b.kill(router);
  }
  void settle() {
    for (int quiet = 0; quiet < 2;) {
      bool made_progress = a.iterate();
      made_progress |= b.iterate();
      quiet = made_progress ? 0 : quiet + 1;
    }
  }
  void run(base::Duration time) {
    for (const base::Time end = a.clock.now() + time; a.clock.now() < end;) {
      settle();
      a.clock.advance(10ms);
      b.clock.advance(10ms);
    }
  }
  // Whether a cell of the node there, for the LID of this router, reaches the node of the other
  // subnet. Leaves in `by` the LID that it has come from.
  bool reaches(sw::World& from, sw::World& to, Lid router) {
    const bool is_h = &from == &a;
    link_world::End& source = *from.nodes.at(is_h ? "h" : "u");
    link_world::End& target = *to.nodes.at(is_h ? "u" : "h");
    const NetworkAddress of_h = address(1, Lid(11)), of_u = address(2, Lid(20));
    const Gnh gnh = is_h ? gnh_between(of_h, of_u, 0, 64) : gnh_between(of_u, of_h, 0, 64);
    const Cell sent = cell_with(Lid(is_h ? 11 : 20), router, 64, ++sent_,
                                [&](CellHead& head) { head.gnh = &gnh; });
    const std::size_t before = target.cells.size();
    if (!source.link().up() || !link_world::write(source.link(), sent)) return false;
    source.port.flush(a.clock.now());
    settle();
    if (target.cells.size() != before + 1) return false;
    CellView view;
    EXPECT_EQ(parse_cell(target.cells.back(), view), CellError::kNone);
    by = view.header.slid;
    return true;
  }
  bool both_ways(Lid router) { return reaches(a, b, router) && reaches(b, a, router); }
  bool within(base::Duration time, Lid router) {
    for (const base::Time end = a.clock.now() + time; a.clock.now() < end; run(10ms)) {
      if (both_ways(router)) return true;
    }
    return false;
  }
  sw::World a, b;
  std::map<std::string, std::unique_ptr<Router>> routers;
  Lid by;

 private:
  unsigned sent_ = 0;
};

TEST_F(RouterStandIn, S000_48_a_router_is_killed_and_back_and_then_the_other_one) {
  ASSERT_TRUE(both_ways(Lid(1)));
  EXPECT_EQ(by, Lid(1));
  EXPECT_TRUE(both_ways(Lid(2)));
  EXPECT_EQ(by, Lid(2));
  kill("r1");
  EXPECT_FALSE(both_ways(Lid(1)));
  ASSERT_TRUE(within(2s, Lid(1)));
  EXPECT_EQ(by, Lid(2)) << "the next cells may go to it";
  start("r1");
  run(3s);
  ASSERT_TRUE(both_ways(Lid(1)));
  EXPECT_EQ(by, Lid(1));
  kill("r2");
  EXPECT_FALSE(both_ways(Lid(2)));
  ASSERT_TRUE(within(2s, Lid(2)));
  EXPECT_EQ(by, Lid(1));
  EXPECT_EQ(a.same_port_drops() + b.same_port_drops(), 0U);
}

// Its other subnet is cut: there it is silent, and here it replies that it leads nowhere.
TEST_F(RouterStandIn, S000_48_a_router_that_has_lost_its_cable_to_one_subnet) {
  ASSERT_TRUE(both_ways(Lid(1)));
  b.set_cut(0, true);
  EXPECT_FALSE(reaches(a, b, Lid(1)));
  ASSERT_TRUE(within(3s, Lid(1)));
  EXPECT_EQ(by, Lid(2));
  // It passes on the cells that come to it all the same.
  EXPECT_NE(a.boxes.at("r1")->sw.tables().port_of(Lid(1)), 0);
  EXPECT_EQ(a.boxes.at("r2")->sw.tables().port_of(Lid(1)), 0);
  b.set_cut(0, false);
  run(4s);
  ASSERT_TRUE(both_ways(Lid(1)));
  EXPECT_EQ(by, Lid(1));
  EXPECT_EQ(a.boxes.at("r1")->sw.tables().port_of(Lid(1)), 0);
}

struct OneRouter : RouterStandIn {
  OneRouter() : RouterStandIn({}) {}
};
TEST_F(OneRouter, S000_48_nobody_stands_in_for_the_router_of_a_route_with_one) {
  ASSERT_TRUE(both_ways(Lid(1)));
  kill("r1");
  EXPECT_FALSE(within(3s, Lid(1)));
  start("r1");
  EXPECT_TRUE(within(3s, Lid(1)));
}

TEST(StandIns, S000_48_tables_have_the_way_to_the_stand_in_and_none_there) {
  Topology t = between(1, 2, "h", Lid(11), {"r2"});
  const auto tables = routes_of(t, {{Lid(1), Lid(2)}});
  EXPECT_EQ(tables.at("s").port_of(Lid(1)), 2);
  EXPECT_EQ(tables.at("r2").port_of(Lid(1)), 0);
  EXPECT_EQ(tables.at("r1").port_of(Lid(1)), 1);
  EXPECT_EQ(tables.at("s").port_of(Lid(11)), 3);
  const auto plan = plan_of(t, "s").value();
  EXPECT_EQ(plan.network->routers, (std::set<Lid>{Lid(1), Lid(2)}));
}

}  // namespace router_stand_in_test
}  // namespace splitnic::fabric
