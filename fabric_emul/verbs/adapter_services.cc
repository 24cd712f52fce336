// The services whose cells are not found by a queue pair number alone: RD by its end-to-end
// contexts [S000-12], Raw by its filters [S000-14].
#include <cerrno>

#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {

base::Status Adapter::add_raw_filter(Qpn qpn, const RawFilter& filter) {
  const Qp* qp = qps_.find(qpn);
  if (qp == nullptr || qp->service() != Service::kRaw) {
    return base::Error("no Raw queue pair of this number", EINVAL);
  }
  return raw_filters_.add(qpn, filter);
}

Qp* Adapter::find_rd(Qpn qpn) {
  Qp* qp = qps_.find(qpn);
  return qp != nullptr && qp->service() == Service::kRd ? qp : nullptr;
}

// Cells of MGMT, RD and Raw.
void Adapter::on_service_cell(Link& link, const CellView& cell, CellError error, base::Time now) {
  if (error != CellError::kNone) return counters_.add(TransportCounter::kCellDropFormat);
  if (cell.header.service == Service::kMgmt) return connections_.on_cell(link, cell, now);
  if (cell.header.service == Service::kRaw) return on_raw_cell(cell);
  contexts_.on_cell(cell, link, now);
}

void Adapter::on_raw_cell(const CellView& cell) {
  const auto header = Gnh::parse(cell.gnh);
  if (!header || header->length != cell.payload.size()) {
    return counters_.add(TransportCounter::kDropRawHeader);
  }
  const auto qpn = raw_filters_.find(*header, cell.payload);
  Qp* qp = qpn ? qps_.find(*qpn) : nullptr;
  if (qp == nullptr) return counters_.add(TransportCounter::kDropRawFilter);
  qp->on_raw(cell);
}

}  // namespace splitnic::fabric
