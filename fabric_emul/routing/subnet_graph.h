// The part of a subnet that is up, as routing sees it: switches, the cables between them, and the
// nodes at their ports. Whoever has a subnet makes one: from a topology file, from a sweep, in a
// simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

struct SubnetGraph {
  struct Cable {
    std::uint8_t port = 0;  // of this switch
    std::uint32_t to = 0;   // the switch at the other end, by its index
  };
  struct Switch {
    std::string name;  // for errors
    Lid lid;
    std::vector<Cable> cables;  // by ascending port; each cable is at both of its switches
  };
  struct Node {
    Lid lid;
    std::uint32_t at = 0;  // its switch
    std::uint8_t port = 0;
    std::uint8_t path = 0;  // of a port with several LIDs, the number of this one; 0 is there
  };
  // A switch that is down stays, so that indices stay: without cables and nodes.
  std::vector<Switch> switches;
  std::vector<Node> nodes;
};

}  // namespace splitnic::fabric
