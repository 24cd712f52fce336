// The picture of `splitnic sim --svg`: the load of each link, at the ports of each switch.
#pragma once

#include <string>

#include "tools/sim_report.h"

namespace splitnic::tools {

// An SVG without anything from outside. A tile is a switch, its columns are its ports: the upper
// half is the load out of the switch, the lower half into it.
std::string sim_picture(const SimRun& run);

}  // namespace splitnic::tools
