// Sends a cell that is longer than its path carries as several flits, its fragments: in the speed
// profile, for queue pairs that were made while the path was wider. Flow: reserve() -> the caller
// writes the cell -> commit() -> drain(), and once more after the batch was blocked, until it is
// empty(). Thread: the data thread. docs/protocol/flit.md#fragments [L-33]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/link/send_batch.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {

class FragmentSender {
 public:
  explicit FragmentSender(base::Counters<LinkCounter>& counters) : counters_(counters) {}

  // Whether all of the last cell is in a batch.
  bool empty() const { return sent_ == bytes_; }
  // Returns room for one cell. A second reserve() without commit() returns the same room. REQUIRES
  // empty().
  base::MutableBytes reserve(std::size_t cell_bytes);
  // Takes the cell at the front of the reserved room. REQUIRES cell_bytes > 0, and not more than
  // was reserved.
  void commit(std::size_t cell_bytes, std::uint8_t vl, bool crc_head_only);
  // Moves fragments into the batch, as long as its datagrams are. Returns false if it is blocked.
  bool drain(SendBatch& batch);
  void drop() { sent_ = bytes_ = 0; }

 private:
  base::Counters<LinkCounter>& counters_;
  std::vector<std::byte> cell_;
  std::size_t bytes_ = 0, sent_ = 0;  // of the cell
  std::uint16_t number_ = 0;          // of the cell
  std::uint8_t vl_ = 0, ctl_ = 0;
};

}  // namespace splitnic::fabric
