// Shortest paths on any topology whose switches layer lanes (lane_layers.h): no deadlock, as no
// route dips more than once.
//
// A table knows the destination only: what a switch adds to the dips of a route depends on where
// the route comes from, because what comes down dips where the switch leaves up. So the rest of a
// route, from a switch on, has a rank: by its dips, and among equals it is better to leave down.
// The rank of a switch follows from that of the next one and the direction to it, and never gets
// worse where that one gets better. Hence 1. the best rank of each switch follows from those of the
// switches nearer to the destination, and all can have theirs at once; 2. from the farthest on,
// each switch takes any way by which it keeps to the rank that the switches before it need, and the
// next one can have the rank that this needs in turn. If some best rank has two dips, no tables of
// shortest paths are safe, and that is an error.
//
// Where several ways are left, destinations in the order of the LIDs of their switches take the one
// by which the fewest LIDs leave so far, the lowest port among equals; the other LIDs of a port
// take them in turn. With tables per input the inputs take them in turn, so the next switches keep
// to what all of them need.
//
// Rings whose LIDs ascend around the ring, and meshes and tori whose LIDs ascend along the rows,
// have such routes.
#pragma once

#include <vector>

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

class LayeredRouting final : public Routing {
 public:
  explicit LayeredRouting(TablesPer per) : per_(per) {}
  // An error names two switches whose shortest routes all have more than one dip.
  base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const override;

 private:
  const TablesPer per_;
};

}  // namespace splitnic::fabric
