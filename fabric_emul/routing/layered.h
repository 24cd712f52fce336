// Shortest paths on any topology whose switches layer lanes (lane_layers.h): no deadlock, as no
// route dips more than once. The ranking of routes by dips is our design.
//
// Each switch ranks its routes by dips, then prefers down: a cell that comes down to the switch
// dips there if it leaves up. Example: from switch 5, the routes 5-2-9 and 5-7-9 have no dip; 5-7-9
// has the better rank, because a cell that comes to 5 from 3 dips at 5 if it leaves for 2.
//
// The rank of a switch follows from that of the next one and the direction to it, and never gets
// worse where that one gets better. Hence
// 1. the best rank of each switch follows from those of the switches nearer to the destination, and
//    all can have theirs at once;
// 2. from the farthest on, each switch takes any way by which it keeps to the rank that the
//    switches before it need, and the next one can have the rank that this needs.
// If some best rank has two dips, no tables of shortest paths are safe, and that is an error.
//
// If several ways are left, destinations in the order of the LIDs of their switches take the one by
// which the fewest LIDs leave so far, the lowest port among equals; the other LIDs of a port take
// them in round robin. With tables per input the inputs take them in round robin, so the next
// switches keep to what all of them need.
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
