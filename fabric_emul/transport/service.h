// The two attributes that distinguish the transport services: connected and acknowledged [S004-02].
#pragma once

#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

constexpr bool is_connected(Service s) { return s == Service::kRc || s == Service::kUc; }
constexpr bool is_acknowledged(Service s) { return s == Service::kRc || s == Service::kRd; }
// The queue pair itself numbers its cells, repeats and acknowledges them. On RD the end-to-end
// context does.
constexpr bool has_own_sequence(Service s) { return s == Service::kRc; }

}  // namespace splitnic::fabric
