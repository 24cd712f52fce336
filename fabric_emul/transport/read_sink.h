// What one RDMA read or FetchOp waits for: which cells of its answer are in place. Answers come in
// any order and any number of times; each cell counts once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

struct ReadSink {
  std::uint64_t wqe_no = 0;
  std::uint32_t cells = 1;  // of the whole answer
  std::uint32_t arrived = 0;
  std::uint32_t missing = 0;     // every cell before it is in place
  std::uint32_t asked_from = 0;  // the newest request names this cell and those behind it
  bool is_to_be_asked = false;   // again, from the first missing cell
  base::Time waits_since{};      // the newest request or cell
  std::vector<bool> is_here;
  PacketCrc crc;  // of the cells before `missing`, if the peer sends flag P
  unsigned crc_failures = 0;

  bool is_whole() const { return arrived == cells; }
  bool has(std::uint32_t csn) const { return is_here[csn]; }
  void take(std::uint32_t csn) {
    is_here[csn] = true;
    ++arrived;
    while (missing < cells && is_here[missing]) ++missing;
  }
  // The last cell that the newest request is answered by.
  bool ends_response(std::uint32_t csn) const {
    return csn + 1 == cells || csn + 1 == asked_from + kResponseCellsMax;
  }
  std::uint32_t cells_under_way() const {
    return cells - missing < kResponseCellsMax ? cells - missing : kResponseCellsMax;
  }
  void forget_all() {
    arrived = missing = 0;
    is_here.assign(cells, false);
    crc = PacketCrc{};
  }
};

}  // namespace splitnic::fabric
