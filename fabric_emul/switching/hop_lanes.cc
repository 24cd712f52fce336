#include "fabric_emul/switching/hop_lanes.h"

#include <algorithm>
#include <array>

#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

std::size_t HopLanes::stride() const {
  return hop_.is_full_profile() ? kFlitHeaderBytes + hop_.cell_bytes_max() : hop_.stride();
}

bool HopLanes::take(base::Bytes batch, std::size_t stride) {
  is_blocked_by_lane_ = hop_.is_full_profile() && !have_room(batch, stride);
  return hop_.is_full_profile() ? !is_blocked_by_lane_ : !hop_.blocked(kMgmtLane);
}

bool HopLanes::have_room(base::Bytes batch, std::size_t stride) const {
  std::array<std::size_t, kLaneCount> needed{};
  for (base::Bytes rest = batch; !rest.empty();) {
    FlitWalker walker(rest.first(std::min(stride, rest.size())));
    rest = rest.subspan(std::min(stride, rest.size()));
    for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;) {
      const bool is_data = flit.header.type == FlitType::kData;
      const std::uint8_t vl = is_data ? hop_.open_lane(flit.header.vl) : kMgmtLane;
      needed.at(vl) += flit.bytes() + kGnhBytes;
    }
  }
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if (needed[vl] != 0 && !hop_.queue_has_room(vl, needed[vl])) return false;
  }
  return true;
}

base::MutableBytes HopLanes::reserve(std::size_t cell_bytes, std::uint8_t vl) {
  if (!hop_.is_full_profile()) return hop_.reserve(cell_bytes, vl);
  return hop_.reserve_queued(cell_bytes, hop_.open_lane(vl));
}

void HopLanes::on_flushed() {
  const std::uint16_t before = std::exchange(blocked_, hop_.full_lanes());
  has_room_ |= (before & ~blocked_) != 0;
  if (blocked_ == 0) is_blocked_by_lane_ = false;  // also of a batch that was dropped
}

}  // namespace splitnic::fabric
