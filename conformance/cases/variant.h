// Cases of the variants of a connection that two sides may agree on. docs/protocol/channels.md
#pragma once

#include <vector>

#include "conformance/case.h"

namespace splitnic::conformance {

// With an I/O unit as the target, and with a host.
std::vector<Case> variant_cases();
std::vector<Case> host_variant_cases();

// Two pools of the end, with references 0 and 1 and other memory. The second has this context.
std::vector<messaging::PoolRecord> two_pools(const End& end, std::uint64_t context);
// The idata of a write into this pool where form B is agreed.
bool has_form_b(const Event& write, const messaging::PoolRecord& pool);
// Ports of a context that selects what goes to port 8080, of any sender.
inline constexpr std::uint64_t kTo8080 = std::uint64_t{8080} << 32;

}  // namespace splitnic::conformance
