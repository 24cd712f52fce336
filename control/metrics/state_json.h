// The JSON of the live page: docs/page.md. Pure.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/event_log.h"
#include "control/report/snapshot.h"

namespace splitnic::control {

inline constexpr std::size_t kEventsShown = 50;  // the newest

// Returns one object on one line, with its newline: what `show --json` and `stats --json` print,
// the time of the snapshot, a sentence for each cause of drops that occurred, and events.
std::string state_json(const Snapshot& snapshot, base::Duration at, const base::EventLog& events);

}  // namespace splitnic::control
