#include "fabric_emul/link/full_profile/link_lanes.h"

#include "base/check.h"

namespace splitnic::fabric {

void LinkLanes::start(base::Time now, const FullLinkConfig& agreed, std::uint64_t nonce,
                      bool is_client) {
  if (link_ == nullptr || link_->config() != agreed) {
    CellSink& sink = *this;
    link_ = std::make_unique<FullLink>(agreed, full_counters_, sink);
    cell_.resize(agreed.cell_bytes_max);
  }
  // The cells that came before in the same batch are of the former life.
  counters_.add(LinkCounter::kRxDropState, received_.cells().size());
  received_.clear();
  nonce_ = nonce;
  ++life_;
  starved_lanes_ = 0;
  delivered_blocks_.fill(0);
  const Lsn of_client(static_cast<std::uint32_t>(nonce & 0xFFFF));
  const Lsn of_listener(static_cast<std::uint32_t>(nonce >> 16 & 0xFFFF));
  link_->start(now, is_client ? of_client : of_listener, is_client ? of_listener : of_client);
}

base::MutableBytes LinkLanes::reserve(std::uint8_t vl, std::size_t cell_bytes) {
  // A queue pair may be older than this link's limits: its cells are never taken, and it ends.
  if (cell_bytes > cell_.size()) return {};
  if (!link_->has_room(vl, cell_bytes)) {
    starved_lanes_ = static_cast<std::uint16_t>(starved_lanes_ | 1U << vl);
    return {};
  }
  reserved_ = cell_bytes;
  return base::MutableBytes(cell_).first(cell_bytes);
}

base::MutableBytes LinkLanes::reserve_queued(std::uint8_t vl, std::size_t cell_bytes) {
  if (cell_bytes > cell_.size() || !link_->fits(vl, cell_bytes)) return {};
  reserved_ = cell_bytes;
  return base::MutableBytes(cell_).first(cell_bytes);
}

void LinkLanes::commit(std::uint8_t vl, std::size_t cell_bytes) {
  CHECK(cell_bytes <= reserved_);
  reserved_ = 0;
  const bool is_posted = link_->post(vl, base::Bytes(cell_).first(cell_bytes));
  CHECK(is_posted);
}

// A lane counts as having room when any cell fits, so that it is not tried in vain.
void LinkLanes::find_room() {
  for (std::uint8_t vl = 0; vl < kLaneCount && starved_lanes_ != 0; ++vl) {
    if ((starved_lanes_ >> vl & 1) == 0 || !link_->has_room(vl, cell_.size())) continue;
    starved_lanes_ = static_cast<std::uint16_t>(starved_lanes_ & ~(1U << vl));
    has_room_ = true;
  }
}

void LinkLanes::release_cells() {
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if (delivered_blocks_[vl] != 0) link_->release(vl, delivered_blocks_[vl]);
  }
  delivered_blocks_.fill(0);
}

CellCredit LinkLanes::hold(const ReceivedCell& cell) {
  CHECK(cell.blocks <= delivered_blocks_.at(cell.vl));
  delivered_blocks_[cell.vl] -= cell.blocks;
  return {life_, cell.blocks, cell.vl};
}

bool LinkLanes::release(const CellCredit& credit) {
  if (credit.life != life_) return false;
  link_->release(credit.vl, credit.blocks);
  return true;
}

// The cell is read after the batch was walked, and its bytes are valid only now: it is copied.
void LinkLanes::on_cell(std::uint8_t vl, base::Bytes cell, std::uint32_t blocks) {
  delivered_blocks_.at(vl) += blocks;
  if (cell.size() < kCellBytesMin) return counters_.add(LinkCounter::kRxDropSize);
  if (received_.is_full()) return counters_.add(LinkCounter::kRxDropOverflow);
  received_.add_copy({cell, vl, false, static_cast<std::uint16_t>(blocks)});
}

}  // namespace splitnic::fabric
