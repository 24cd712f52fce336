// Finds a deadlock: full buffers in a circle, each of whose first cell needs room in the next. None
// of them can ever move, so what is found is no false alarm, and a fabric that stands still with
// cells in it, and with all its routes up, has such a circle.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric_emul/simulation/model.h"

namespace splitnic::fabric::simulation {

// The buffers of one circle, in order, each waits for the next; empty: there is none.
std::vector<std::uint32_t> find_deadlock(const Model& model);

}  // namespace splitnic::fabric::simulation
