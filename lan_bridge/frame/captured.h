// Rebuilds the vnet header for frames of a capture that has none (libpcap): which checksums the
// sender left to hardware, and which frames are super-frames.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::lan {

// Writes the vnet header of `frame` ([12 bytes][Ethernet frame], tags in band) and, in a TCP
// super-frame, the pseudo-header sum. gso_size is what fits the MTU: the sender's own is not known,
// and for TCP need not be. Returns false for UDP datagrams that were merged into one, whose
// boundaries are lost: the frame has to be dropped.
bool rebuild_captured(base::MutableBytes frame, std::uint32_t mtu);

// For a super-frame that the kernel merged after it had verified the checksums: writes the
// pseudo-header sum and NEEDS_CSUM, which every super-frame in splitnic has. Returns false if its
// headers are not those of its gso_type: the frame has to be dropped.
bool complete_super_frame(base::MutableBytes frame);

}  // namespace splitnic::lan
