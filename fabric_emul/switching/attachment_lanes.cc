// The lanes of the hop of an attachment, in the full profile.
#include <algorithm>
#include <array>

#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/wire/global_cell.h"

namespace splitnic::fabric {

std::size_t Attachment::hop_stride() const {
  return link_->is_full_profile() ? kFlitHeaderBytes + link_->cell_bytes_max() : link_->stride();
}

// Full profile: whether the queues have room for all cells of a batch.
bool Attachment::lanes_take(base::Bytes bytes, std::size_t stride) const {
  std::array<std::size_t, kLaneCount> needed{};
  for (base::Bytes rest = bytes; !rest.empty();) {
    FlitWalker walker(rest.first(std::min(stride, rest.size())));
    rest = rest.subspan(std::min(stride, rest.size()));
    for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;) {
      const bool is_data = flit.header.type == FlitType::kData;
      const std::uint8_t vl = is_data ? link_->open_lane(flit.header.vl) : kMgmtLane;
      needed.at(vl) += flit.bytes() + kGnhBytes;
    }
  }
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if (needed[vl] != 0 && !link_->queue_has_room(vl, needed[vl])) return false;
  }
  return true;
}

base::MutableBytes Attachment::reserve(std::size_t cell_bytes, std::uint8_t vl) {
  if (!link_->is_full_profile()) return link_->reserve(cell_bytes, vl);
  return link_->reserve_queued(cell_bytes, link_->open_lane(vl));
}

void Attachment::flush(base::Time now) {
  port_.flush(now);
  const std::uint16_t before = std::exchange(blocked_lanes_, link_->full_lanes());
  has_room_ |= (before & ~blocked_lanes_) != 0;
  if (blocked_lanes_ == 0) is_blocked_by_lane_ = false;  // also of a batch that was dropped
}

}  // namespace splitnic::fabric
