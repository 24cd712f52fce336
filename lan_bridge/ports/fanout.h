// The queues of a captured LAN NIC: one packet socket each, in a fanout group of the kernel, which
// gives every frame to one of them. A program in the kernel selects the socket by the flow of the
// frame (flow_program.h), so frames of one flow, in both directions, stay on one queue as long as
// the members are the same. Thread: the one that opens the ports.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace splitnic::lan {

// Returns a filter that accepts no frame, for a socket that is bound before it can join.
std::vector<sock_filter> accept_nothing();
// Adds to the start of a filter that it accepts no frame that leaves the interface: a group shows
// them to its members in kernels that do not know PACKET_FANOUT_FLAG_IGNORE_OUTGOING.
void exclude_outgoing(std::vector<sock_filter>& filter);

class FanoutGroup {
 public:
  // has_program false: the kernel's own hash selects the socket, as where it refuses the program.
  explicit FanoutGroup(bool has_program = true) : has_program_(has_program) {}

  // Adds a packet socket that is bound to the interface, and captures all protocols, as all of the
  // group do. The first one creates the group. A socket leaves when it is closed. Returns an error
  // if the kernel refuses.
  base::Status join(int fd);

 private:
  base::Status create(int fd);

  bool has_program_;
  std::optional<int> joining_;  // the value of PACKET_FANOUT for further members
};

}  // namespace splitnic::lan
