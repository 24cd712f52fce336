// up*/down*: no deadlock on any topology. Up is towards the roots, and among switches of one
// distance from them towards the lower LID. Roots are the switches whose farthest node is nearest,
// such as the spines of a tree. If they do not reach every node, the one of them with the lowest
// LID is the only root, and that does. A subnet that has come apart has roots in each part.
#pragma once

#include <vector>

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

class UpDownRouting final : public Routing {
 public:
  explicit UpDownRouting(TablesPer per) : per_(per) {}
  base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const override;

 private:
  const TablesPer per_;
};

}  // namespace splitnic::fabric
