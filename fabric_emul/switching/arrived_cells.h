// The cells of the batch that an attached port has received, as the layers above take them: in runs
// that lie as their sender made a batch, with nothing but filler between. The bytes are those of
// the batch: valid until the next one is received. No allocation after construction. Thread: the
// data thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/link/received_cells.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

class ArrivedCells {
 public:
  struct Cell {
    ReceivedCell cell;
    Lid from, to;
    PartitionKey partition;
    std::size_t number;  // in the batch: those that are not here were dropped
  };
  // Flits of one cell each, `stride` apart.
  struct Run {
    base::Bytes bytes;
    std::size_t stride;
    std::size_t cells;
    Lid from;
  };

  ArrivedCells() { cells_.reserve(ReceivedCells::kCellsMax); }

  void add(const Cell& cell) { cells_.push_back(cell); }
  void clear() {
    cells_.clear();
    next_ = 0;
  }
  bool empty() const { return next_ == cells_.size(); }
  // REQUIRES !empty(), as the next two do.
  const Cell& front() const { return cells_[next_]; }
  void pop() { ++next_; }
  // Takes the first one, and those behind it that are of one run with it.
  Run pop_run();

 private:
  std::size_t cells_apart(std::size_t stride) const;

  std::vector<Cell> cells_;
  std::size_t next_ = 0;
};

}  // namespace splitnic::fabric
