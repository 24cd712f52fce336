// Shortest paths. Ties go to the lowest port; with a table per input, round robin. Around a loop of
// switches cells may wait for each other in a circle: with back pressure that is a deadlock.
#pragma once

#include <vector>

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

class ShortestPathRouting final : public Routing {
 public:
  explicit ShortestPathRouting(TablesPer per) : per_(per) {}
  base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const override;

 private:
  const TablesPer per_;
};

}  // namespace splitnic::fabric
