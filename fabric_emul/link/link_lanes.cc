// A link in the full profile: cells wait on their lane, a FullLink cuts them into flits when the
// port flushes, and sends them again when the peer missed one. docs/wire/flit.md#full-profile
#include <algorithm>
#include <bit>
#include <cstring>

#include "fabric_emul/link/link.h"
#include "fabric_emul/link/port.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kDatagramsPerBatch = 64;

}  // namespace

std::uint8_t Link::lane_of(std::uint8_t sl) const {
  const std::uint8_t vl = port_.config().sl_to_vl.at(sl & kSlMax);
  if (full_ == nullptr || (full_->config().lanes_mask >> vl & 1) != 0) return vl;
  return 0;  // INIT sees to it that both ends have this one
}

unsigned Link::lanes() const {
  if (full_ == nullptr) return 1;
  const unsigned data = full_->config().lanes_mask & ~(1U << kMgmtLane);
  return static_cast<unsigned>(std::popcount(data));
}

// Both directions begin with numbers that nobody could know before this INIT, so that flits of the
// time before are not taken for new ones.
void Link::start_lanes(base::Time now, const FullLinkConfig& agreed,
                       base::Counters<FullLinkCounter>& counters, CellSink& sink,
                       std::uint64_t nonce) {
  if (full_ == nullptr || full_->config() != agreed) {
    full_ = std::make_unique<FullLink>(agreed, counters, sink);
    cell_.resize(agreed.cell_bytes_max);
  }
  set_full_stride();
  epoch_ = nonce;
  starved_lanes_ = 0;
  delivered_blocks_.fill(0);
  const Lsn of_client(static_cast<std::uint32_t>(nonce & 0xFFFF));
  const Lsn of_listener(static_cast<std::uint32_t>(nonce >> 16 & 0xFFFF));
  full_->start(now, is_client_ ? of_client : of_listener, is_client_ ? of_listener : of_client);
}

// As long as the path is said to carry, so that little is lost with each; where nothing passes that
// way, as in the speed profile.
void Link::set_full_stride() {
  const std::size_t datagram = underlay_.datagram_bytes_max(address_);
  const std::size_t safe = mcp_ + kStrideOverhead;
  std::size_t stride = safe;
  if (is_wide_ && datagram > kSessionReserveBytes) {
    stride = std::max(safe, std::min(datagram - kSessionReserveBytes, buffer_.size()));
  }
  stride_ = std::max(stride, kFlitHeaderBytes + full_->config().flit_payload_max);
  CHECK(stride_ <= buffer_.size());
}

base::MutableBytes Link::reserve_on_lane(std::size_t cell_bytes) {
  // A queue pair may be older than this link's limits: its cells are never taken, and it ends.
  if (cell_bytes > cell_.size()) return {};
  if (!full_->has_room(vl_, cell_bytes)) {
    starved_lanes_ = static_cast<std::uint16_t>(starved_lanes_ | 1U << vl_);
    return {};
  }
  reserved_ = cell_bytes;
  return base::MutableBytes(cell_).first(cell_bytes);
}

void Link::commit_on_lane(std::size_t cell_bytes) {
  const bool posted = full_->post(vl_, base::Bytes(cell_).first(cell_bytes));
  CHECK(posted);
  if (!queued_) port_.queue(*this);
}

bool Link::flush_lanes(base::Time now) {
  while (state_ == LinkState::kUp) {
    if (used_ == 0) gather_flits(now);
    if (used_ == 0) break;
    if (!flush()) return false;
  }
  if (starved_lanes_ != 0) find_room();
  return true;
}

void Link::gather_flits(base::Time now) {
  const std::size_t datagrams = std::min(buffer_.size() / stride_, kDatagramsPerBatch);
  batch_stride_ = stride_;
  batch_ = buffer_;
  for (std::size_t i = 0; i < datagrams; ++i) {
    const base::MutableBytes datagram = base::MutableBytes(buffer_).subspan(i * stride_, stride_);
    const std::size_t bytes = full_->fill(now, datagram);
    if (bytes == 0) break;
    used_ = i * stride_ + bytes;
    std::memset(datagram.data() + bytes, 0, stride_ - bytes);  // filler
  }
}

// Room again is room for any cell, so that a lane is not tried in vain.
void Link::find_room() {
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if ((starved_lanes_ >> vl & 1) == 0 || !full_->has_room(vl, cell_.size())) continue;
    starved_lanes_ = static_cast<std::uint16_t>(starved_lanes_ & ~(1U << vl));
    has_room_again_ = true;
  }
}

void Link::release_cells() {
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if (delivered_blocks_[vl] != 0) full_->release(vl, delivered_blocks_[vl]);
  }
  delivered_blocks_.fill(0);
}

}  // namespace splitnic::fabric
