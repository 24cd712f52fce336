// The LIDs that a subnet manager gives, and the parts in which a switch gets them.
#include "fabric_emul/switching/lid_numbers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "fabric_emul/subnet/node_lids.h"
#include "fabric_emul/switching/queue_lid.h"

namespace splitnic::fabric {
namespace lid_numbers_test {

Topology with_nodes(const std::vector<Topology::Node>& nodes) {
  Topology t;
  t.switches = {{"s", Lid(2)}};
  t.nodes = nodes;
  t.lids_from = GivenBy::kManager;
  return t;
}

Topology::Node node(const std::string& name, std::uint8_t lmc = 0) {
  Topology::Node out;
  out.name = name;
  out.lmc = lmc;
  return out;
}

TEST(LidNumbersTest, S004_19_nodes_get_the_lowest_free_lids_by_name) {
  Topology t = with_nodes({node("c"), node("a"), node("b", 2), node("d")});
  ASSERT_TRUE(number_nodes(t));
  EXPECT_EQ(t.nodes[1].lid, Lid(1)) << "a";
  EXPECT_EQ(t.nodes[2].lid, Lid(4)) << "b: a multiple of 4";
  EXPECT_EQ(t.nodes[0].lid, Lid(3)) << "c: LID 2 is that of the switch";
  EXPECT_EQ(t.nodes[3].lid, Lid(8)) << "d";
  // The order of the file does not count.
  Topology other = with_nodes({node("d"), node("b", 2), node("c"), node("a")});
  ASSERT_TRUE(number_nodes(other));
  EXPECT_EQ(lids_of(other), lids_of(t));
}

TEST(LidNumbersTest, S004_19_queues_have_the_lids_of_their_node) {
  Topology t = with_nodes({node("b#1"), node("b"), node("a"), node("b#2"), node("b-2")});
  ASSERT_TRUE(number_nodes(t));
  EXPECT_EQ(t.nodes[2].lid, Lid(1));
  EXPECT_EQ(t.nodes[1].lid, Lid(3));
  EXPECT_EQ(t.nodes[0].lid, lid_of_queue(Lid(3), 1));
  EXPECT_EQ(t.nodes[3].lid, lid_of_queue(Lid(3), 2));
  EXPECT_EQ(t.nodes[4].lid, Lid(4));
}

TEST(LidNumbersTest, S004_19_no_lid_is_given_twice_and_too_many_are_an_error) {
  std::vector<Topology::Node> nodes;
  for (int i = 0; i < 383; ++i) nodes.push_back(node("n" + std::to_string(i), kLmcMax));
  Topology t = with_nodes(nodes);
  ASSERT_TRUE(number_nodes(t));
  std::set<Lid> all;
  for (const Topology::Node& one : t.nodes) {
    EXPECT_TRUE(is_valid(one.lids())) << one.name;
    for (unsigned path = 0; path < one.lids().count(); ++path) {
      EXPECT_TRUE(all.insert(one.lids().of_path(path)).second) << one.name;
    }
  }
  EXPECT_FALSE(all.contains(Lid(2)));
  nodes.push_back(node("x", kLmcMax));
  t = with_nodes(nodes);
  const auto numbered = number_nodes(t);
  ASSERT_FALSE(numbered) << "384 times 128, and the first 128 are not free";
  EXPECT_NE(numbered.error().text().find("not enough LIDs"), std::string::npos);
  EXPECT_NE(numbered.error().text().find("for x"), std::string::npos);
}

NodeLids hundred() {
  NodeLids nodes;
  for (std::uint16_t i = 0; i < 100; ++i) {
    nodes["n" + std::to_string(i)] = {Lid(static_cast<std::uint16_t>(2 * i + 2)), 1};
  }
  return nodes;
}

// Nodes of a switch that has no LIDs yet.
NodeLids without_lids(NodeLids nodes) {
  for (auto& [name, lids] : nodes) lids.base = Lid();
  return nodes;
}

std::vector<PortLids> in_order(const NodeLids& nodes) {
  std::vector<PortLids> all;
  for (const auto& [name, lids] : nodes) all.push_back(lids);
  return all;
}

TEST(NodeLidsTest, P_SUBN_21_parts_are_complete_in_whatever_order_they_come) {
  const NodeLids nodes = hundred(), at_switch = without_lids(nodes);
  ASSERT_EQ(LidParts(nodes).count(), 2U);
  for (const auto& order : {std::vector{0U, 1U}, std::vector{1U, 1U, 0U}}) {
    StagedLids staged;
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(staged.take(LidParts(nodes).part(order[i]), at_switch), SmpStatus::kDone);
      EXPECT_EQ(staged.is_complete(), i + 1 == order.size());
    }
    EXPECT_EQ(staged.lids(), in_order(nodes));
  }
}

TEST(NodeLidsTest, S004_19_P_SUBN_21_parts_of_two_sets_are_never_mixed) {
  NodeLids nodes = hundred();
  const NodeLids at_switch = without_lids(nodes);
  StagedLids staged;
  staged.take(LidParts(nodes).part(0), at_switch);
  NodeLids other = nodes;
  other.at("n99") = {Lid(0x400), 1};
  staged.take(LidParts(other).part(1), at_switch);
  EXPECT_FALSE(staged.is_complete());
  EXPECT_EQ(staged.take(LidParts(other).part(0), at_switch), SmpStatus::kDone);
  EXPECT_EQ(staged.lids(), in_order(other));
  // Parts that claim one check and are of two sets.
  SmpLids wrong = LidParts(nodes).part(1);
  wrong.check = LidParts(other).part(0).check;
  EXPECT_EQ(staged.take(LidParts(other).part(0), at_switch), SmpStatus::kDone);
  EXPECT_EQ(staged.take(wrong, at_switch), SmpStatus::kStale);
  EXPECT_FALSE(staged.is_complete());
}

TEST(NodeLidsTest, P_SUBN_21_lids_for_other_names_are_refused) {
  NodeLids nodes = hundred(), fewer = hundred(), renamed = hundred();
  fewer.erase("n5");
  renamed.erase("n5");
  renamed["m5"] = {Lid(12), 1};
  StagedLids staged;
  EXPECT_EQ(staged.take(LidParts(nodes).part(0), without_lids(fewer)), SmpStatus::kBad);
  staged.take(LidParts(nodes).part(0), without_lids(renamed));
  EXPECT_EQ(staged.take(LidParts(nodes).part(1), without_lids(renamed)), SmpStatus::kStale);
  EXPECT_FALSE(staged.is_complete());
}

}  // namespace lid_numbers_test
}  // namespace splitnic::fabric
