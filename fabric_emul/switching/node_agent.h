// The agent of an end node that is attached to a switch: serves what the subnet manager asks of the
// node by SMP. NODE reports the name and the port, and SET of PORT gives the port its LIDs,
// where the switch has offered none in INIT. SMPs come by way of its switch, which passes on those
// of the manager that it obeys. Sans-I/O. Thread: the data thread.
// docs/protocol/subnet.md#end-nodes
#pragma once

#include <string>

#include "base/bytes.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/wire/port_lids.h"

namespace splitnic::fabric {

class NodeAgent {
 public:
  // REQUIRES a node name.
  explicit NodeAgent(std::string name);

  // The switch is another process: the LIDs that were given hold no more.
  void forget() { given_ = {}; }
  // Serves an SMP that came by the link to the switch. Writes the reply at out, and returns its
  // bytes; 0: it is none that ends at a node, and is dropped. REQUIRES room for kSmpBytesMax.
  std::size_t serve(base::Bytes smp, const Link& link, base::MutableBytes out);
  // Base 0: none.
  const PortLids& given() const { return given_; }

 private:
  const std::string name_;
  PortLids given_;
};

}  // namespace splitnic::fabric
