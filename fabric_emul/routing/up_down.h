// up*/down*: no deadlock on any topology. Up is towards the roots, and among switches of one
// distance from them towards the lower LID. The centre are the switches from which the farthest
// node is nearest. All of it are roots, such as the spines of a tree, if each node is reached so;
// else the one of the lowest LID, from which each is. A subnet that has come apart has roots in
// each part.
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
