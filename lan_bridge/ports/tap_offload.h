// The frames of a TAP as its descriptor passes them: the header in front, and the work that the
// kernel may leave undone in those that are read.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace splitnic::lan {

// Every frame has a virtio-net header, little endian.
base::Status set_tap_header(int tap_fd);
// Returns the offload bits that this kernel's TAPs know. USO, which came with Linux 6.2, is tried.
std::uint32_t probe_tap_offloads(int tap_fd);
// Returns a line for the user about `wanted` offloads that the kernel does not know; empty if it
// knows all.
std::string missing_tap_offloads(std::uint32_t wanted, std::uint32_t known);
// Sets exactly the checksum, TSO and USO bits of `mask`.
base::Status set_tap_offloads(int tap_fd, std::uint32_t mask);

}  // namespace splitnic::lan
