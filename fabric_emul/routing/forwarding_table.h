// The forwarding table of one switch: the port by which each LID leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class ForwardingTable {
 public:
  // 0: none. Any LID, also one from a cell.
  std::uint8_t port_of(Lid lid) const { return lid.value < ports_.size() ? ports_[lid.value] : 0; }
  void set(Lid lid, std::uint8_t port) {
    if (lid.value >= ports_.size()) ports_.resize(std::size_t{lid.value} + 1);
    ports_[lid.value] = port;
  }

 private:
  std::vector<std::uint8_t> ports_;  // up to the highest LID that was set
};

}  // namespace splitnic::fabric
