// Chooses the queue of a TAP for a frame of the host's stack: by its flow (flow_program.h). Without
// such a program the kernel learns the queue of a flow from frames of the reverse direction and
// forgets it after 3 s, and then frames of one flow overtake each other. Thread: the one that opens
// the ports.
#pragma once

#include <linux/filter.h>

#include <span>
#include <string>
#include <vector>

#include "base/socket_program.h"
#include "base/status.h"

namespace splitnic::lan {

// Returns a classic program in the form that a TAP takes. There the data begins at the MAC header,
// here at the network header. REQUIRES what flow_program() returns, or other instructions of its
// kinds.
std::vector<base::EbpfInstruction> to_ebpf(std::span<const sock_filter> classic);

// Gives the flow program to the TAP of this descriptor, for all queues that it has or will have.
// Returns an error if the kernel refuses, as it does without CAP_BPF.
base::Status steer_by_flow(int tap_fd);

}  // namespace splitnic::lan
