// The reasons of fabric_emul/link/link_ends.h, for the modules, which see little else of a link.
#pragma once

#include "fabric_emul/link/link_ends.h"

namespace splitnic::control {

using fabric::kClosedHere;
using fabric::kHeardNothing;
using fabric::kPeerStopped;

}  // namespace splitnic::control
