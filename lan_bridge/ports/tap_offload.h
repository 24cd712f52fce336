// The offloads of a TAP: what the kernel may leave undone in the frames that we read.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace splitnic::lan {

// Offload bits that this kernel's TAPs know: USO came with Linux 6.2 and is tried.
std::uint32_t probe_tap_offloads(int tap_fd);
// Message for the user about `wanted` offloads that the kernel does not know; empty if it knows
// all.
std::string missing_tap_offloads(std::uint32_t wanted, std::uint32_t known);
// Puts exactly the checksum, TSO and USO bits of `mask` in force.
base::Status set_tap_offloads(int tap_fd, std::uint32_t mask);

}  // namespace splitnic::lan
