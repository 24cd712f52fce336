// Fat trees: switches with nodes are leaves, and every cable joins neighbouring levels. Routes go
// up and then down, so there is no deadlock. Destinations are spread over the ways up, digit by
// digit of their number (d-mod-k: Zahavi, 2010), so that in a complete tree each has its way down
// from the top to itself. The tree may be incomplete: what is down is routed around, as long as a
// way up and then down is left. Between the switches of the top there is none.
#pragma once

#include <vector>

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

class FatTreeRouting final : public Routing {
 public:
  explicit FatTreeRouting(TablesPer per) : per_(per) {}
  // An error names two switches of one level that have a cable.
  base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const override;

 private:
  const TablesPer per_;
};

}  // namespace splitnic::fabric
