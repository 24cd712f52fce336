#include "fabric_emul/link/received_cells.h"

#include "base/check.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {

void ReceivedCells::add_copy(base::Bytes cell, std::uint8_t vl, std::uint16_t blocks) {
  const std::size_t bytes = kFlitHeaderBytes + cell.size();
  CHECK(bytes <= store_.size() - stored_);
  const base::MutableBytes flit(store_.data() + stored_, bytes);
  stored_ += bytes;
  FlitHeader header;
  header.vl = vl;
  header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
  emit_flit(flit, header, cell);
  cells_.push_back({flit.subspan(kFlitHeaderBytes), vl, false, blocks});
}

}  // namespace splitnic::fabric
