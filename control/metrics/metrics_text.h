// A snapshot in the text format of Prometheus, version 0.0.4: docs/metrics.md. Pure.
#pragma once

#include <string>
#include <string_view>

#include "control/report/snapshot.h"

namespace splitnic::control {

inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Returns every metric with its HELP and TYPE, sorted by name, with a newline at the end. Two
// counters never become one sample.
std::string metrics_text(const Snapshot& snapshot);

}  // namespace splitnic::control
