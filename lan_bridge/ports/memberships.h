// The receive filter that a packet socket requests for its interface (packet(7),
// PACKET_ADD_MEMBERSHIP). It asks for no privilege, and it ends with the socket. Thread: the data
// thread of its owner.
#pragma once

#include <utility>

#include "base/status.h"
#include "lan_bridge/receive_filter.h"

namespace splitnic::lan {

class Memberships {
 public:
  Memberships() = default;  // nothing is requested
  // This is requested by move_to().
  explicit Memberships(ReceiveFilter wanted) : current_(std::move(wanted)) {}

  // Replaces the filter that was set before; what both request is received all the time. `fd` and
  // `interface_index` are the same in all calls up to move_to(). An error: a part is not in force,
  // and is not tried again until another filter is set.
  base::Status set(int fd, unsigned interface_index, const ReceiveFilter& wanted);
  // From now on `fd` is another socket, perhaps of another interface, which has requested `had`: it
  // requests what the one before it did.
  base::Status move_to(int fd, unsigned interface_index, const ReceiveFilter& had);

 private:
  ReceiveFilter current_{};
};

}  // namespace splitnic::lan
