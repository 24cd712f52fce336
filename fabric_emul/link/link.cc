#include "fabric_emul/link/link.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace splitnic::fabric {

Link::Link(PortContext& context, std::size_t slot)
    : context_(context),
      slot_(slot),
      payload_crc_(context.crc_terms.initial()),
      batch_(context.underlay, context.counters, context.config.dscp_of_lane),
      fragments_(context.counters),
      keep_alive_(context.config.idle, context.config.idle_missing_max),
      path_(context.config),
      lanes_(context.counters, context.full_counters, context.received) {}

void Link::commit(std::size_t cell_bytes) {
  if (cell_bytes == 0) return cancel();
  if (lanes_.is_open()) {
    lanes_.commit(vl_, cell_bytes);
    return queue();
  }
  if (is_cut_) return commit_cut(cell_bytes);
  const base::MutableBytes flit = batch_.commit(kFlitHeaderBytes + cell_bytes);
  RepeatedFlit& sealed = sealed_.of(cell_bytes);
  if (sealed.is_for(cell_bytes, vl_)) {
    sealed.copy_to(flit.data());
  } else {
    FlitHeader header;
    header.vl = vl_;
    header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
    if (crc_head_only()) header.ctl |= kFlitCellCrcHeadOnly;
    header.size = static_cast<std::uint16_t>(cell_bytes);
    seal_flit(flit, header);
    sealed.remember(flit.data(), cell_bytes, vl_);
  }
  context_.counters.add(LinkCounter::kTxFlit);
  queue();
}

void Link::commit_cut(std::size_t cell_bytes) {
  is_cut_ = false;
  fragments_.commit(cell_bytes, vl_, crc_head_only());
  fragments_.drain(batch_);  // what does not fit follows when the batch is not blocked any more
  queue();
}

void Link::set_payload_crc(PayloadCrcState state) {
  payload_crc_ = state;
  sealed_.forget();  // its Ctl states the mode
}

void Link::cancel() {
  lanes_.cancel();
  batch_.cancel();
  is_cut_ = false;
}

std::uint8_t Link::lane_of(std::uint8_t sl) const {
  const std::uint8_t vl = context_.config.sl_to_vl.at(sl & kSlMax);
  return open_lane(vl);  // INIT requires that both ends have lane 0
}

base::MutableBytes Link::reserve_queued(std::size_t cell_bytes, std::uint8_t vl) {
  CHECK(lanes_.is_open());
  if (!up()) return {};
  vl_ = vl;
  return lanes_.reserve_queued(vl, cell_bytes);
}

void Link::release(const CellCredit& credit) {
  if (lanes_.release(credit) && up()) queue();
}

std::uint16_t Link::full_lanes() const {
  std::uint16_t full = 0;
  for (std::uint8_t vl = 0; lanes_.is_open() && vl < kLaneCount; ++vl) {
    if (lanes_.is_lane_open(vl) && !lanes_.has_room(vl)) {
      full = static_cast<std::uint16_t>(full | 1U << vl);
    }
  }
  return full;
}

unsigned Link::lanes() const {
  if (!lanes_.is_open()) return std::max(1U, context_.underlay.lanes());
  const unsigned data = lanes_.config().lanes_mask & ~(1U << kMgmtLane);
  return static_cast<unsigned>(std::popcount(data));
}

}  // namespace splitnic::fabric
