// Cases of the variants of a connection that two sides may agree on. docs/protocol/channels.md
#pragma once

#include <vector>

#include "conformance/case.h"

namespace splitnic::conformance {

// Cases for an I/O unit as the target.
std::vector<Case> variant_cases();
// Cases for a host as the target.
std::vector<Case> host_variant_cases();

// Returns two pools of the end, with references 0 and 1, that share no memory. The second has this
// context.
std::vector<messaging::PoolRecord> two_pools(const End& end, std::uint64_t context);
// Returns true if the write has the immediate data of form B for this pool.
bool has_form_b(const Event& write, const messaging::PoolRecord& pool);
// The target has written without idata, and has no ACK of it: BufferRDMAIndicate of this write
// comes when the write is acknowledged, and not before.
void expect_indicated_late(End& end, const Event& write);
// Port fields of a context that selects the frames of any sender to port 8080.
inline constexpr std::uint64_t kTo8080 = std::uint64_t{8080} << 32;

}  // namespace splitnic::conformance
