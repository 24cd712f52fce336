// Rebuilds the vnet header that a capture without one (libpcap) has lost: which checksums the
// sender left to hardware, and which frames are super-frames.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace splitnic::lan {

// Writes the vnet header of `frame` ([12 bytes][Ethernet frame], tags in band) and, in a TCP
// super-frame, the pseudo-header sum. gso_size is what fits the MTU: the sender's own is not known,
// and for TCP need not be. False: UDP datagrams merged into one, whose boundaries are gone; to be
// dropped.
bool rebuild_captured(base::MutableBytes frame, std::uint32_t mtu);

// A super-frame that the kernel merged with its checksum verified: gives it the pseudo-header sum
// and NEEDS_CSUM that all our super-frames have. False: its headers are not those of its
// gso_type; to be dropped.
bool complete_super_frame(base::MutableBytes frame);

}  // namespace splitnic::lan
