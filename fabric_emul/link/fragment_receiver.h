// Puts the fragments of a cell together, in the speed profile. They count in their order only, so
// there is one cell at a time: what is lost or overtaken costs its cell, which the queue pair sends
// once more. Thread: the data thread. docs/protocol/flit.md#fragments [L-33]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {

class FragmentReceiver {
 public:
  explicit FragmentReceiver(base::Counters<LinkCounter>& counters) : counters_(counters) {}

  // Takes a flit with SOF or EOF, but not both, or with neither. Returns the whole cell if this was
  // its last fragment, else nothing; it is valid until the next call. A cell of more than
  // cell_bytes_max is dropped.
  base::Bytes take(const FlitView& flit, std::size_t cell_bytes_max);
  // Drops and counts the cell that has begun.
  void drop();

 private:
  bool is_copy(const FlitView& flit) const;
  void begin(const FlitHeader& header);
  bool continues(const FlitHeader& header) const;

  base::Counters<LinkCounter>& counters_;
  std::vector<std::byte> cell_;  // as far as it has come
  bool is_begun_ = false;        // and not complete
  std::uint16_t number_ = 0;
  std::uint8_t vl_ = 0;
};

}  // namespace splitnic::fabric
