// Shortest paths, by the lowest port among equals. Around a loop of switches cells may wait for
// each other in a circle: with back pressure that is a deadlock.
#pragma once

#include <vector>

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

class ShortestPathRouting final : public Routing {
 public:
  base::Result<std::vector<ForwardingTable>> tables(const SubnetGraph& graph) const override;
};

}  // namespace splitnic::fabric
