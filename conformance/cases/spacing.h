// The interval at which a target repeats something. Single times mean little where the target or
// the suite may wait for a processor, so the median of several is taken.
#pragma once

#include <functional>

#include "conformance/end.h"

namespace splitnic::conformance {

// Calls `await_next` for each of `times` repetitions, which waits for the next and returns false
// if none came. Returns the median of the times between two. REQUIRES times >= 2.
std::optional<base::Duration> median_spacing(End& end, unsigned times,
                                             const std::function<bool()>& await_next);

}  // namespace splitnic::conformance
