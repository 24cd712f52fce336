#include "fabric_emul/switching/arrived_cells.h"

#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/mac_header.h"

namespace splitnic::fabric {

ArrivedCells::Run ArrivedCells::pop_run() {
  const Cell& first = front();
  const base::Bytes cell = first.cell.bytes;
  // The header of its flit lies before the cell.
  const std::size_t flit_bytes = kFlitHeaderBytes + cell.size();
  std::size_t stride = flit_bytes;
  std::size_t count = 1;
  if (next_ + 1 < cells_.size() && cells_[next_ + 1].cell.bytes.data() > cell.data()) {
    stride = static_cast<std::size_t>(cells_[next_ + 1].cell.bytes.data() - cell.data());
    count = cells_apart(stride);
  }
  if (count == 1) stride = flit_bytes;
  next_ += count;
  return {{cell.data() - kFlitHeaderBytes, (count - 1) * stride + flit_bytes},
          stride,
          count,
          first.from};
}

// From the first one on.
std::size_t ArrivedCells::cells_apart(std::size_t stride) const {
  const Cell& first = front();
  const std::size_t flit_bytes = kFlitHeaderBytes + first.cell.bytes.size();
  if (stride < flit_bytes) return 1;
  std::size_t count = 1;
  for (; next_ + count < cells_.size(); ++count) {
    const Cell& next = cells_[next_ + count];
    if (next.number != first.number + count || next.from != first.from ||
        next.cell.vl != first.cell.vl || next.cell.bytes.size() != first.cell.bytes.size() ||
        next.cell.bytes.data() != first.cell.bytes.data() + count * stride) {
      break;
    }
    const auto header = header_of(next.cell.bytes);
    if (header && header->service == Service::kMgmt) break;
  }
  return count;
}

}  // namespace splitnic::fabric
