// Selects the cases of a run by id, by group or by a pattern with '*', and marks those that are
// skipped for a reason. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/suite.h"

namespace splitnic::conformance {

// Whether the pattern is the id of the case, its group, or matches its id; '*' is any text.
bool is_named(const Case& one, std::string_view pattern);

// Without a pattern in `wanted` all cases are selected. A case of `skips` is selected with its
// reason.
std::vector<Selected> select(std::vector<Case> all, const std::vector<std::string>& wanted,
                             const std::map<std::string, std::string>& skips);

}  // namespace splitnic::conformance
