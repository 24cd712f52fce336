// Limits of docs/protocol that both the cases and the watches count up to. They are the numbers of
// the specification, and not those of our programs.
#pragma once

namespace splitnic::conformance {

inline constexpr unsigned kDiscsMax = 10;  // DISC without a reply. P-CM-11

}  // namespace splitnic::conformance
