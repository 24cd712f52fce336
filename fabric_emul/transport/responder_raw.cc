// Raw: the receive gets the IPv6 header and the payload, as they were sent [S000-14].
// docs/protocol/raw.md
#include <algorithm>

#include "fabric_emul/transport/responder.h"

namespace splitnic::fabric {

void Responder::on_raw(const CellView& cell) {
  context_.counters.add(TransportCounter::kRxCells);
  context_.counters.add(TransportCounter::kRxBytes, cell.payload.size());
  const std::size_t bytes = cell.gnh.size() + cell.payload.size();
  if (rq_.empty()) return context_.counters.add(TransportCounter::kDropRawNoReceive);
  if (bytes > rq_.front().scatter.bytes) {
    return context_.counters.add(TransportCounter::kDropRawLength);
  }
  datagram_.assign(cell.gnh.begin(), cell.gnh.end());
  datagram_.insert(datagram_.end(), cell.payload.begin(), cell.payload.end());
  CellView whole = cell;
  whole.payload = datagram_;
  take_datagram(whole);
}

}  // namespace splitnic::fabric
