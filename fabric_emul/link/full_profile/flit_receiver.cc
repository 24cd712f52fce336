#include "fabric_emul/link/full_profile/flit_receiver.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace splitnic::fabric {

FlitReceiver::FlitReceiver(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters,
                           CellSink& sink)
    : config_(config), counters_(counters), sink_(sink) {
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if (is_open(vl)) lanes_[vl].cell.reserve(config.cell_bytes_max);
  }
  start(Lsn(1));
}

void FlitReceiver::start(Lsn first) {
  retry_.start(first);
  ack_due_ = false;
  credit_due_ = grown_ = grown_before_ = 0;
  for (Lane& lane : lanes_) {
    lane.cell.clear();
    lane.blocks = lane.held = 0;
    lane.grant.start(config_.receive_blocks);
  }
}

void FlitReceiver::on_data(const FlitView& flit) {
  switch (retry_.on_data(flit.header.lsn)) {
    case RetryReceiver::Verdict::kTake:
      ack_due_ = true;
      return take(flit);
    case RetryReceiver::Verdict::kRepeated:
      ack_due_ = true;
      return counters_.add(FullLinkCounter::kRxRepeated);
    case RetryReceiver::Verdict::kGap:
      return counters_.add(FullLinkCounter::kRxDropGap);
  }
}

void FlitReceiver::take(const FlitView& flit) {
  const std::uint8_t vl = flit.header.vl;
  if (!is_open(vl)) return counters_.add(FullLinkCounter::kRxDropLane);
  Lane& lane = lanes_[vl];
  const std::uint32_t blocks = blocks_of(flit.payload.size());
  if (vl != kMgmtLane && lane.held + blocks > config_.receive_blocks) {
    // The bytes were never granted, so no blocks are released for them.
    counters_.add(FullLinkCounter::kRxDropBuffer);
    return drop_cell(vl);
  }
  lane.held += blocks;
  const bool is_first = (flit.header.ctl & kFlitSof) != 0;
  if (is_first && lane.blocks != 0) {
    counters_.add(FullLinkCounter::kRxDropCell);
    drop_cell(vl);
  }
  lane.blocks += blocks;
  const bool has_place = is_first || !lane.cell.empty();
  if (!has_place || lane.cell.size() + flit.payload.size() > config_.cell_bytes_max) {
    counters_.add(FullLinkCounter::kRxDropCell);
    return drop_cell(vl);
  }
  lane.cell.insert(lane.cell.end(), flit.payload.begin(), flit.payload.end());
  if ((flit.header.ctl & kFlitEof) == 0) return;
  counters_.add(FullLinkCounter::kRxCell);
  const std::uint32_t of_cell = lane.blocks;
  lane.blocks = 0;
  sink_.on_cell(vl, lane.cell, of_cell);
  lane.cell.clear();
}

void FlitReceiver::drop_cell(std::uint8_t vl) {
  Lane& lane = lanes_[vl];
  lane.cell.clear();
  const std::uint32_t blocks = lane.blocks;
  lane.blocks = 0;
  if (blocks != 0) release(vl, blocks);
}

void FlitReceiver::release(std::uint8_t vl, std::uint32_t blocks) {
  Lane& lane = lanes_[vl];
  CHECK(blocks <= lane.held);
  lane.held -= blocks;
  if (vl == kMgmtLane) return;
  lane.grant.release(blocks);
  credit_due_ = static_cast<std::uint16_t>(credit_due_ | 1U << vl);
  grown_ = static_cast<std::uint16_t>(grown_ | 1U << vl);
}

void FlitReceiver::repeat_credits() {
  credit_due_ = static_cast<std::uint16_t>(credit_due_ | grown_ | grown_before_);
  grown_before_ = std::exchange(grown_, 0);
}

void FlitReceiver::stamp(FlitHeader& header) {
  header.ack = retry_.ack();
  ack_due_ = false;
  const auto data = static_cast<std::uint16_t>(config_.lanes_mask & ~(1U << kMgmtLane));
  if (data == 0) return;
  const std::uint16_t from = credit_due_ != 0 ? credit_due_ : data;
  const auto after = static_cast<std::uint16_t>(from & ~((2U << credit_lane_) - 1));
  credit_lane_ = static_cast<unsigned>(std::countr_zero(after != 0 ? after : from));
  header.credit_vl = static_cast<std::uint8_t>(credit_lane_);
  header.credit_limit = lanes_[credit_lane_].grant.limit();
  credit_due_ = static_cast<std::uint16_t>(credit_due_ & ~(1U << credit_lane_));
}

}  // namespace splitnic::fabric
