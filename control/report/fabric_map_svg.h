// The picture of a fabric: switches in rows above their nodes, and each end of a link in the colour
// of the load out of it, compared with the greatest of all. Pure.
#pragma once

#include <string>

#include "control/report/fabric_map.h"

namespace splitnic::control {

// An SVG without anything from outside. Each line and box has a title with names and numbers, which
// a browser shows at the pointer.
std::string fabric_map_svg(const FabricMap& map);

}  // namespace splitnic::control
