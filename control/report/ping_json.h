// The round trips of `splitnic ping` as JSON, as a program replies with them and as it is printed.
#pragma once

#include <optional>
#include <string>

#include "control/report/snapshot.h"

namespace splitnic::control {

// {"sent":…,"replied":…,"min_ns":…,"median_ns":…,"max_ns":…,"round_trip_ns":[…]} and a newline,
// without the three if nothing replied.
std::string ping_json(const PingResult& result);
// Returns nothing if the text is something else, such as the text of an older program.
std::optional<PingResult> parse_ping_json(const std::string& text);

}  // namespace splitnic::control
