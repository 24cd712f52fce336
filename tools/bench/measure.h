// The active end's measurement: half a round trip (of a read or FetchOp: half of the time that it
// takes), then messages per second with FabricEnd::in_flight_max() of them in flight. On a service
// that repeats nothing the ones that arrived count, reports of the passive end open the window, and
// each wait for a reply has an end. It fails if a FetchOp was not executed exactly once [S000-05],
// or a read placed wrong bytes.
#pragma once

#include "tools/bench/fabric_end.h"

namespace splitnic::bench {

// REQUIRES a connected active end.
base::Result<Row> measure(FabricEnd& end, const Run& run);

}  // namespace splitnic::bench
