// The active end's measurement: half a round trip (of a read: half of the time that it takes), then
// messages per second with slots_for() of them in flight.
#pragma once

#include "tools/bench/fabric_end.h"

namespace splitnic::bench {

// REQUIRES a connected active end.
base::Result<Row> measure(FabricEnd& end, const Run& run);

}  // namespace splitnic::bench
