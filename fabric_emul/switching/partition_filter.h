// Filters cells by partition at the port of a switch, in each direction: one look-up for a cell. At
// the port of a node the node's own keys come in, and what matches one of them goes out; elsewhere,
// and in a subnet without partitions, all pass. Pure. [S004-20] docs/protocol/partition.md
#pragma once

#include <bitset>
#include <span>

#include "fabric_emul/wire/partition.h"

namespace splitnic::fabric {

class PartitionFilter {
 public:
  // Empty: all pass.
  explicit PartitionFilter(std::span<const PartitionKey> of_node) {
    if (of_node.empty()) {
      in_.set();
      out_.set();
    }
    for (const PartitionKey key : of_node) {
      in_.set(key.value);
      out_.set(as_full_member(key).value);
      if (is_full_member(key)) out_.set(as_limited_member(key).value);
    }
  }
  // Nothing passes.
  static PartitionFilter of_nobody() { return PartitionFilter(); }
  // A member may not send as what it is not: a limited one not as a full one.
  bool accepts(PartitionKey of_cell) const { return in_.test(of_cell.value); }
  bool forwards(PartitionKey of_cell) const { return out_.test(of_cell.value); }

 private:
  PartitionFilter() = default;

  std::bitset<std::size_t{1} << 16> in_, out_;
};

}  // namespace splitnic::fabric
