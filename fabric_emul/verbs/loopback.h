// The way of an adapter to itself: two endpoints in memory, one for a port that listens and one for
// a port that connects. Links, handshake, cells and checks are those of any other port; only the
// carrier never leaves the process. Thread: the data thread.
#pragma once

#include "fabric_emul/link/port.h"
#include "fabric_emul/underlay/in_process_underlay.h"

namespace splitnic::fabric {

class Loopback {
 public:
  Loopback() : listening_(hub_.add_endpoint()), connecting_(hub_.add_endpoint()) {}

  InProcessUnderlay& listening() { return listening_; }
  InProcessUnderlay& connecting() { return connecting_; }
  // Something was sent and is not received: receive() has work now.
  bool has_traffic() const {
    return listening_.queued_batches() > 0 || connecting_.queued_batches() > 0;
  }

  // The ends of the link, set by the adapter: far() once the listening side has accepted.
  Link* near = nullptr;
  Port* far_port = nullptr;
  Link* far() const { return near->up() ? far_port->by_lid(near->local_lid()) : nullptr; }

 private:
  InProcessHub hub_;
  InProcessUnderlay& listening_;
  InProcessUnderlay& connecting_;
};

}  // namespace splitnic::fabric
