// The cells of the batch that a port is receiving. Cells of the speed and shm profiles refer to the
// underlay's buffer; the full profile reassembles cells from flits, so those are copied into a
// store of fixed size, and so are cells of the speed profile that came in fragments. In all
// profiles the header of a flit that holds the whole cell lies before it. Invariant: no allocation
// after construction, but for the store at the first fragment. Thread: the data thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

// One received cell. The bytes are valid during the callback that gets them.
struct ReceivedCell {
  base::Bytes bytes;
  std::uint8_t vl = 0;
  bool crc_head_only = false;
  std::uint16_t blocks = 0;  // full profile: what it occupies of the credits of its lane
};

class ReceivedCells {
 public:
  // The largest UDP datagram or GRO batch, and how many of the smallest cells it holds.
  static constexpr std::size_t kBatchBytesMax = 65536;
  static constexpr std::size_t kCellsMax = kBatchBytesMax / (kFlitHeaderBytes + kCellBytesMin) + 1;

  // carried_bytes_max: bytes of cells that earlier batches began and one batch may complete, in the
  // full profile; 0 in the others, which copy nothing.
  explicit ReceivedCells(std::size_t carried_bytes_max) {
    cells_.reserve(kCellsMax);
    if (carried_bytes_max != 0) store_.resize(kBatchBytesMax + carried_bytes_max);
  }

  void clear() {
    cells_.clear();
    stored_ = 0;
  }
  bool is_full() const { return cells_.size() == cells_.capacity(); }
  std::span<const ReceivedCell> cells() const { return cells_; }

  // Adds a cell that lies in the underlay's buffer. REQUIRES !is_full().
  void add(const ReceivedCell& cell) { cells_.push_back(cell); }
  // Adds a copy with a flit header. REQUIRES !is_full(), and that the last flit of the cell came in
  // this batch: then the header has room where that of the flit was.
  void add_copy(const ReceivedCell& cell);

 private:
  std::vector<ReceivedCell> cells_;
  std::vector<std::byte> store_;
  std::size_t stored_ = 0;
};

}  // namespace splitnic::fabric
