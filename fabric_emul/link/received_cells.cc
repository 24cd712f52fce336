#include "fabric_emul/link/received_cells.h"

#include "base/check.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {

void ReceivedCells::add_copy(const ReceivedCell& cell) {
  // Speed profile: an earlier batch may have begun one cell.
  if (store_.empty()) store_.resize(kBatchBytesMax + kFlitPayloadMax);
  const std::size_t bytes = kFlitHeaderBytes + cell.bytes.size();
  CHECK(bytes <= store_.size() - stored_);
  const base::MutableBytes flit(store_.data() + stored_, bytes);
  stored_ += bytes;
  FlitHeader header;
  header.vl = cell.vl;
  header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
  if (cell.crc_head_only) header.ctl |= kFlitCellCrcHeadOnly;
  emit_flit(flit, header, cell.bytes);
  cells_.push_back(cell);
  cells_.back().bytes = flit.subspan(kFlitHeaderBytes);
}

}  // namespace splitnic::fabric
