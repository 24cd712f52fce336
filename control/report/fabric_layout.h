// The places of switches and nodes in a picture of a fabric. Nodes are in the bottom row, switches
// with nodes in the row above, and each other switch as many rows higher as it is cables away from
// these: a fat tree is drawn as a tree. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/report/fabric_map.h"

namespace splitnic::control {

struct FabricLayout {
  struct Point {
    int x = 0, y = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };
  int width = 0, height = 0;
  std::map<std::string, Point, std::less<>> switches{};  // centres, by name
  std::vector<Point> nodes{};                            // in the order of the map
};

// The centres of the highest switches are at `top`. A node at a switch that the map does not have
// is at 0, 0.
FabricLayout layout_of(const FabricMap& map, int top);

}  // namespace splitnic::control
