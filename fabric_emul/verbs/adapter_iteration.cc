// One iteration of the adapter: 1. receive: cells to their queue pairs, timers, replies; 2.
// transmit: every active queue pair in round-robin order, then the batches of the ports leave.
#include <algorithm>

#include "fabric_emul/verbs/adapter.h"

namespace splitnic::fabric {
namespace {

// The quantum of one queue pair: the cells that it may send per round.
constexpr unsigned kCellsPerRound = 256;
// Rounds of all queue pairs before the adapter receives once more.
constexpr unsigned kRoundsPerIteration = 8;

// The services whose cells have another way than to the queue pair of their number.
constexpr unsigned kOtherServices = 1U << static_cast<unsigned>(Service::kMgmt) |
                                    1U << static_cast<unsigned>(Service::kRd) |
                                    1U << static_cast<unsigned>(Service::kRaw);
constexpr bool has_other_way(Service service) {
  return (kOtherServices >> static_cast<unsigned>(service) & 1U) != 0;
}

}  // namespace

bool Adapter::poll(base::Time now, unsigned batches_max) {
  const bool made_progress = receive(now, batches_max);
  transmit(now);
  return made_progress || has_more_;
}

bool Adapter::receive(base::Time now, unsigned batches_max) {
  now_ = now;
  bool made_progress = false;
  for (const auto& port : ports_) {
    made_progress |= port->receive(
        now, batches_max,
        [&](Link& link, std::span<const ReceivedCell> cells) { on_batch(link, cells, now); });
    port->on_time(now);
  }
  connections_.on_time(now);
  for (Qp* qp : active_) {
    if (qp->deadline() <= now) qp->on_time(now);
    qp->end_batch(now);
  }
  if (!streams_.empty()) streams_.on_time(now);
  if (!contexts_.empty()) contexts_.on_time(now);
  return made_progress;
}

// Each round gives every active queue pair its quantum, so that none starves another.
void Adapter::transmit(base::Time now) {
  now_ = now;
  const std::size_t count = active_.size();
  bool has_more = count > 0;
  for (unsigned round = 0; has_more && round < kRoundsPerIteration; ++round) {
    has_more = false;
    for (std::size_t i = 0; i < count; ++i) {
      Qp& qp = *active_[(next_active_ + i) % count];
      const unsigned sent =
          qp.transmit(now, kCellsPerRound, [this](Lid lid) { return link_by_lid(lid); });
      has_more |= sent == kCellsPerRound;
    }
  }
  has_more_ = has_more;
  if (!streams_.empty()) has_more_ |= streams_.transmit(now);
  if (!contexts_.empty()) contexts_.transmit(now);
  if (count > 0) next_active_ = (next_active_ + 1) % count;
  std::erase_if(active_, [](Qp* qp) {
    if (qp->is_active()) return false;
    qp->is_in_active_list = false;
    return true;
  });
  for (const auto& port : ports_) {
    port->flush(now);
    has_more_ |= port->take_room();
  }
  if (loopback_) has_more_ |= loopback_->has_traffic();
}

void Adapter::on_batch(Link& link, std::span<const ReceivedCell> cells, base::Time now) {
  for (std::size_t i = 0; i < cells.size();) {
    Qp* qp = on_cell(link, cells[i++], now);
    if (qp == nullptr) continue;
    i += qp->take_run(cells.subspan(i), cell_.header, link, now);
    if (!qp->is_in_active_list && qp->is_active()) activate(*qp);
  }
  for (Qp* qp : active_) qp->end_batch(now);
  if (!streams_.empty()) streams_.end_batch(now);
}

// The order of checks: CRC, length, version, Op x Svc (parse_cell), queue pair, source, state, then
// those of the service. Returns the queue pair that got the cell, of which cell_.header is valid.
Qp* Adapter::on_cell(Link& link, const ReceivedCell& received, base::Time now) {
  CellView& cell = cell_;
  const CellError error = parse_cell(received.bytes, cell, received.crc_head_only);
  if (error != CellError::kNone && error < CellError::kOp) {
    counters_.add(error == CellError::kCrc ? TransportCounter::kCellDropCrc
                                           : TransportCounter::kCellDropFormat);
    return nullptr;
  }
  // From here on the header is valid; the rest of the cell only when there is no error.
  if (!link.takes(cell.header.dlid) || cell.header.slid != link.remote_lid()) {
    counters_.add(TransportCounter::kCellDropSource);
    return nullptr;
  }
  if (has_other_way(cell.header.service)) {
    on_service_cell(link, cell, error, now);
    return nullptr;
  }
  Qp* qp = qps_.find(cell.header.dqpn);
  if (qp == nullptr) {
    if (!streams_.on_cell(link, cell, error, received.bytes.size(), now)) {
      counters_.add(TransportCounter::kCellDropQp);
    }
    return nullptr;
  }
  if (error == CellError::kNone) {
    qp->on_cell(cell, received.bytes, link, now);
  } else {
    qp->on_malformed(cell.header, link);
  }
  return qp;
}

base::Time Adapter::deadline() const {
  if (has_more_) return now_;
  base::Time at = connections_.deadline();
  if (!streams_.empty()) at = std::min(at, streams_.deadline());
  if (!contexts_.empty()) at = std::min(at, contexts_.deadline());
  for (const auto& port : ports_) at = std::min(at, port->deadline());
  for (const Qp* qp : active_) at = std::min(at, qp->deadline());
  return at;
}

bool Adapter::wants_write() const {
  return std::ranges::any_of(ports_, [](const auto& port) { return port->wants_write(); });
}

void Adapter::on_writable(base::Time now) {
  for (const auto& port : ports_) port->on_writable(now);
  for (Qp* qp : active_) qp->end_batch(now);
  transmit(now);
}

}  // namespace splitnic::fabric
