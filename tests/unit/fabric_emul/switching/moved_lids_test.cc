// Switches that start again with another topology file give nodes that run other LIDs: the links
// from end to end get these, and what is above them ends.
#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/switching/path_of_a_node.h"

namespace splitnic::fabric {
namespace moved_lids_test {

using namespace switch_world;

class MovedLidsTest : public path_of_a_node::PathOfANodeTest {};

// The queue pairs of both ends have the old LIDs. The host finds the unit by the new one, so
// neither end gets silent.
TEST_F(MovedLidsTest, S000_34_another_lid_of_the_unit_ends_what_is_above_the_link) {
  start_host(500, 0);
  run(2s);
  ASSERT_TRUE(carries());
  topology.nodes[1].lid = Lid(40);
  start_switch(8);
  run(3s);
  EXPECT_EQ(host->end->link().local_lid(), Lid(11));
  EXPECT_EQ(host->end->link().remote_lid(), Lid(40));
  EXPECT_TRUE(carries());
  EXPECT_EQ(host->end->watch.restarted_instance, 300U);
  EXPECT_EQ(unit->end->watch.restarted_instance, 500U);
}

TEST_F(MovedLidsTest, S000_34_other_lids_after_a_long_time_without_a_switch_end_it_too) {
  start_host(500, 0);
  run(2s);
  ASSERT_TRUE(carries());
  link_world::run_for(clock, 2s, [this] {
    const bool has_received = host->end->step(clock.now());
    return unit->end->step(clock.now()) || has_received;
  });
  ASSERT_FALSE(host->end->link().up());
  topology.nodes[0].lid = Lid(30);
  topology.nodes[1].lid = Lid(40);
  start_switch(8);
  run(3s);
  EXPECT_EQ(host->end->link().local_lid(), Lid(30));
  EXPECT_EQ(host->end->link().remote_lid(), Lid(40));
  EXPECT_TRUE(carries());
  EXPECT_EQ(host->end->watch.restarted_instance, 300U);
  EXPECT_EQ(unit->end->watch.restarted_instance, 500U);
}

}  // namespace moved_lids_test
}  // namespace splitnic::fabric
