// The services whose cells are not found by a queue pair number alone: RD by its end-to-end
// contexts [S000-12], Raw by its filters [S000-14].
#include <algorithm>
#include <cerrno>

#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {

base::Result<EeId> Adapter::create_ee(const EeInit& init) {
  if (ees_.size() >= limits_.ee_contexts) {
    return base::Error("the adapter has no end-to-end context left");
  }
  if (!limits_.partitions.has(init.partition)) {
    return base::Error("this node is no member of partition " + text_of(init.partition), EINVAL);
  }
  if (init.sl > kSlMax || init.mcp % 4 != 0 || init.retry_count > kRetryCountMax) {
    return base::Error("an end-to-end context has an impossible service level, MCP or retry count",
                       EINVAL);
  }
  for (;;) {
    const EeId id(random_.next32() & 0xFFFFFF);
    if (id.value == 0 || ees_.find(id) != nullptr) continue;
    RdQueuePairs& queue_pairs = *this;
    ees_.insert(
        std::make_unique<EeContext>(id, init, Psn(random_.next32()), queue_pairs, counters_));
    return id;
  }
}

void Adapter::destroy_ee(EeId id) {
  EeContext* ee = ees_.find(id);
  if (ee == nullptr) return;
  ee->end(WcStatus::kFlushed);
  ees_.erase(id);
}

MgmtPair Adapter::describe_ee(EeId id, std::uint8_t channel) {
  const EeContext* ee = ees_.find(id);
  CHECK(ee != nullptr);
  MgmtPair pair;
  pair.channel = channel;
  pair.service = Service::kRd;
  pair.qpn = Qpn(id.value);
  pair.start_psn = ee->start_psn();
  pair.mcp = ee->mcp();
  pair.msg_max = ee->mcp();
  return pair;
}

base::Status Adapter::connect_ee(const MgmtPair& mine, const MgmtPair& theirs, Link& link) {
  EeContext* ee = ees_.find(EeId(mine.qpn.value));
  if (ee == nullptr) return base::Error("no such end-to-end context");
  if (theirs.service != Service::kRd) {
    return base::Error("the peer describes no end-to-end context", EINVAL);
  }
  if (theirs.mcp != 0 && theirs.mcp < link.mcp_min()) {
    return base::Error("the peer's end-to-end context takes short cells only", EINVAL);
  }
  EePeer peer;
  peer.context = theirs.qpn.value;
  peer.receive_psn = theirs.start_psn;
  peer.mcp = link.mcp();
  if (mine.mcp != 0) peer.mcp = std::min(peer.mcp, mine.mcp);
  if (theirs.mcp != 0) peer.mcp = std::min(peer.mcp, theirs.mcp);
  return ee->connect(link, peer);
}

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
  EeContext* ee = ees_.find(EeId(*cell.ee));
  if (ee == nullptr) return counters_.add(TransportCounter::kCellDropEe);
  ee->on_cell(cell, link, now);
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

void Adapter::poll_ees(base::Time now) {
  ees_.for_each([&](EeContext& ee) { ee.on_time(now); });
}

void Adapter::transmit_ees(base::Time now) {
  ees_.for_each([&](EeContext& ee) { ee.transmit(now); });
}

base::Time Adapter::ees_deadline() const {
  base::Time at = base::kNever;
  ees_.for_each([&](const EeContext& ee) { at = std::min(at, ee.deadline()); });
  return at;
}

}  // namespace splitnic::fabric
