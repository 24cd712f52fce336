// Datapath in: 1. who sent the batch; 2. walk each datagram's flits, bad CRC ends it; 3. INIT,
// which is alone in its datagram [M-5], and IDLE are for the port; 4. DATA of a link that is up or
// silent becomes a ReceivedCell. A flit with the header of a cell before it skips the checks.
// Only fragments and cells of the full profile are copied.
#include "fabric_emul/link/port.h"

namespace splitnic::fabric {

PortLink* Port::take_batch(base::Time now, const Underlay::Received& batch) {
  context_.counters.add(LinkCounter::kRxBatch);
  context_.counters.add(LinkCounter::kRxBytes, batch.bytes.size());
  context_.received.clear();
  checked_.forget();
  PortLink* link = by_address(batch.from);
  const std::size_t stride = std::max<std::size_t>(batch.stride, 1);
  for (base::Bytes rest = batch.bytes; !rest.empty();) {
    const std::size_t bytes = std::min(stride, rest.size());
    take_datagram(now, rest.first(bytes), batch.from, link);
    rest = rest.subspan(bytes);
  }
  if (link == nullptr || context_.received.cells().empty()) return nullptr;
  if (!link->up()) {  // BYE in the same batch
    context_.counters.add(LinkCounter::kRxDropState, context_.received.cells().size());
    return nullptr;
  }
  context_.counters.add(LinkCounter::kRxCell, context_.received.cells().size());
  return link;
}

void Port::take_datagram(base::Time now, base::Bytes datagram, const PeerAddress& from,
                         PortLink*& link) {
  context_.counters.add(LinkCounter::kRxDatagram);
  FlitWalker walker(datagram);
  FlitView flit;
  bool is_first = true;
  for (;; is_first = false) {
    if (take_repeated(walker, link)) continue;
    switch (walker.next(flit)) {
      case FlitWalker::Step::kFlit:
        context_.counters.add(LinkCounter::kRxFlit);
        if (flit.header.type == FlitType::kInit) {
          if (!is_first) return context_.counters.add(LinkCounter::kRxDropInit);
          checked_.forget();  // the link may be another one now, or agree on another CRC
          on_init(now, flit, from, link);
          if (walker.next(flit) == FlitWalker::Step::kEnd) return;
          return context_.counters.add(LinkCounter::kRxDropInit);  // what is behind it
        }
        take_flit(now, flit, link);
        break;
      case FlitWalker::Step::kBad:
        count_bad(walker.error());
        if (link != nullptr) link->on_bad_flit();
        break;
      case FlitWalker::Step::kEnd:
        return;
      case FlitWalker::Step::kSession:
        context_.counters.add(LinkCounter::kRxDropSession);
        return;
    }
  }
}

// Takes the next flit if it has the header of a cell that came before it in this batch, over the
// same link. Returns false, and takes nothing, if it is to be checked.
bool Port::take_repeated(FlitWalker& walker, const PortLink* link) {
  const RepeatedFlit* known = checked_.find(walker.rest());
  if (known == nullptr || context_.received.is_full()) return false;
  context_.counters.add(LinkCounter::kRxFlit);
  context_.received.add({walker.rest().subspan(kFlitHeaderBytes, known->cell_bytes()), known->vl(),
                         link->crc_head_only()});
  walker.pass(kFlitHeaderBytes + known->cell_bytes());
  return true;
}

void Port::take_flit(base::Time now, const FlitView& flit, PortLink* link) {
  if (link == nullptr) return context_.counters.add(LinkCounter::kRxDropPeer);
  if (link->state() == LinkState::kConnecting)
    return context_.counters.add(LinkCounter::kRxDropState);
  if (link->is_full_profile()) return link->on_full_flit(now, flit);
  switch (flit.header.type) {
    case FlitType::kData:
      link->on_heard(now);
      return take_cell(flit, *link);
    case FlitType::kIdle:
      context_.counters.add(LinkCounter::kRxIdle);
      return link->on_heard(now);
    case FlitType::kLack:
    case FlitType::kLnak:
    case FlitType::kCredit:
    case FlitType::kInit:
      break;
  }
  context_.counters.add(LinkCounter::kRxDropType);
}

void Port::take_cell(const FlitView& flit, PortLink& link) {
  constexpr std::uint8_t kWhole = kFlitSof | kFlitEof;
  const bool is_whole = (flit.header.ctl & kWhole) == kWhole;
  const bool head_only = (flit.header.ctl & kFlitCellCrcHeadOnly) != 0;
  if (head_only != link.crc_head_only() || (!is_whole && !context_.uses_fragments())) {
    return context_.counters.add(LinkCounter::kRxDropCtl);
  }
  if (!is_whole) return take_fragment(flit, link);
  if (flit.payload.size() < kCellBytesMin) return context_.counters.add(LinkCounter::kRxDropSize);
  if (context_.received.is_full()) return context_.counters.add(LinkCounter::kRxDropOverflow);
  context_.received.add({flit.payload, flit.header.vl, head_only});
  // Under a CRC that covers the payload, an equal header shows nothing of the next flit.
  if ((flit.header.ctl & kFlitHeaderCrcOnly) == 0) return;
  checked_.of(flit.payload.size())
      .remember(flit.payload.data() - kFlitHeaderBytes, flit.payload.size(), flit.header.vl);
}

void Port::take_fragment(const FlitView& flit, PortLink& link) {
  if (context_.received.is_full()) return context_.counters.add(LinkCounter::kRxDropOverflow);
  const base::Bytes cell = link.on_fragment(flit);
  if (cell.empty()) return;
  if (cell.size() < kCellBytesMin) return context_.counters.add(LinkCounter::kRxDropSize);
  context_.received.add_copy({cell, flit.header.vl, link.crc_head_only()});
}

void Port::count_bad(FlitError error) {
  switch (error) {
    case FlitError::kCrc:
      return context_.counters.add(LinkCounter::kRxDropCrc);
    case FlitError::kShort:
    case FlitError::kSize:
    case FlitError::kPayload:
      return context_.counters.add(LinkCounter::kRxDropSize);
    case FlitError::kType:
      return context_.counters.add(LinkCounter::kRxDropType);
    case FlitError::kNone:
    case FlitError::kCount_:
      break;
  }
}

PortLink* Port::by_address(const PeerAddress& address) {
  if (last_from_ != nullptr && last_from_->address() == address) return last_from_;
  for (auto& link : links_) {
    if (link->state() != LinkState::kFree && link->address() == address) {
      return last_from_ = link.get();
    }
  }
  return nullptr;
}

}  // namespace splitnic::fabric
