// Datapath in: 1. who sent the batch; 2. walk each datagram's flits, bad CRC ends it; 3. INIT and
// IDLE are for the port; 4. DATA of a link that is up becomes a ReceivedCell. Nothing is copied.
#include <cstring>

#include "fabric_emul/link/port.h"

namespace splitnic::fabric {

Link* Port::take_batch(base::Time now, const Underlay::Received& batch) {
  counters_.add(LinkCounter::kRxBatch);
  counters_.add(LinkCounter::kRxBytes, batch.bytes.size());
  cells_.clear();
  stored_ = 0;
  Link* link = by_address(batch.from);
  const std::size_t stride = std::max<std::size_t>(batch.stride, 1);
  for (base::Bytes rest = batch.bytes; !rest.empty();) {
    const std::size_t bytes = std::min(stride, rest.size());
    take_datagram(now, rest.first(bytes), batch.from, link);
    rest = rest.subspan(bytes);
  }
  if (link == nullptr || cells_.empty()) return nullptr;
  if (!link->up()) {  // BYE in the same batch
    counters_.add(LinkCounter::kRxDropState, cells_.size());
    return nullptr;
  }
  counters_.add(LinkCounter::kRxCell, cells_.size());
  return link;
}

void Port::take_datagram(base::Time now, base::Bytes datagram, const PeerAddress& from,
                         Link*& link) {
  counters_.add(LinkCounter::kRxDatagram);
  FlitWalker walker(datagram);
  FlitView flit;
  for (;;) {
    switch (walker.next(flit)) {
      case FlitWalker::Step::kFlit:
        counters_.add(LinkCounter::kRxFlit);
        take_flit(now, flit, from, link);
        break;
      case FlitWalker::Step::kBad:
        count_bad(walker.error());
        if (link != nullptr && link->full_ != nullptr) link->full_->on_bad_flit();
        break;
      case FlitWalker::Step::kEnd:
        return;
      case FlitWalker::Step::kSession:
        counters_.add(LinkCounter::kRxDropSession);
        return;
    }
  }
}

void Port::take_flit(base::Time now, const FlitView& flit, const PeerAddress& from, Link*& link) {
  if (flit.header.type == FlitType::kInit) return on_init(now, flit, from, link);
  if (link == nullptr) return counters_.add(LinkCounter::kRxDropPeer);
  if (link->state_ == LinkState::kConnecting) return counters_.add(LinkCounter::kRxDropState);
  if (link->full_ != nullptr) return take_full(now, flit, *link);
  switch (flit.header.type) {
    case FlitType::kData:
      heard(now, *link);
      return take_cell(flit, *link);
    case FlitType::kIdle:
      counters_.add(LinkCounter::kRxIdle);
      return heard(now, *link);
    case FlitType::kLack:
    case FlitType::kLnak:
    case FlitType::kCredit:
    case FlitType::kInit:
      break;
  }
  counters_.add(LinkCounter::kRxDropType);
}

// Everything else about it is the FullLink's; what it owes in answer leaves with the next flush.
void Port::take_full(base::Time now, const FlitView& flit, Link& link) {
  receiving_ = &link;
  if (link.full_->receive(now, flit)) {
    if (flit.header.type == FlitType::kIdle) counters_.add(LinkCounter::kRxIdle);
    heard(now, link);
  }
  if (!link.full_->up()) take_down(now, link, LinkState::kConnecting, "too many link retries");
  if (!link.queued_) queue(link);
}

// A cell is whole: it is read when the batch has been walked, so it is kept until then.
void Port::on_cell(std::uint8_t vl, base::Bytes cell, std::uint32_t blocks) {
  receiving_->delivered_blocks_.at(vl) += blocks;
  if (cell.size() < kCellBytesMin) return counters_.add(LinkCounter::kRxDropSize);
  if (cells_.size() == cells_.capacity()) return counters_.add(LinkCounter::kRxDropOverflow);
  CHECK(cell.size() <= store_.size() - stored_);
  std::byte* at = store_.data() + stored_;
  std::memcpy(at, cell.data(), cell.size());
  stored_ += cell.size();
  cells_.push_back({{at, cell.size()}, vl, false});
}

void Port::take_cell(const FlitView& flit, const Link& link) {
  constexpr std::uint8_t kWhole = kFlitSof | kFlitEof;
  const bool head_only = (flit.header.ctl & kFlitCellCrcHeadOnly) != 0;
  if ((flit.header.ctl & kWhole) != kWhole || head_only != link.crc_head_only_) {
    return counters_.add(LinkCounter::kRxDropCtl);
  }
  if (flit.payload.size() < kCellBytesMin) return counters_.add(LinkCounter::kRxDropSize);
  if (cells_.size() == cells_.capacity()) return counters_.add(LinkCounter::kRxDropOverflow);
  cells_.push_back({flit.payload, flit.header.vl, head_only});
}

void Port::count_bad(FlitError error) {
  switch (error) {
    case FlitError::kCrc:
      return counters_.add(LinkCounter::kRxDropCrc);
    case FlitError::kShort:
    case FlitError::kSize:
    case FlitError::kPayload:
      return counters_.add(LinkCounter::kRxDropSize);
    case FlitError::kType:
      return counters_.add(LinkCounter::kRxDropType);
    case FlitError::kNone:
    case FlitError::kCount_:
      break;
  }
}

void Port::heard(base::Time now, Link& link) {
  link.last_heard_ = now;
  if (link.state_ == LinkState::kSilent) bring_up(now, link);
}

Link* Port::by_address(const PeerAddress& address) {
  if (last_from_ != nullptr && last_from_->address_ == address) return last_from_;
  for (auto& link : links_) {
    if (link->state_ != LinkState::kFree && link->address_ == address) {
      return last_from_ = link.get();
    }
  }
  return nullptr;
}

}  // namespace splitnic::fabric
