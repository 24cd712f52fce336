#include "fabric_emul/link/full_profile/flit_sender.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace splitnic::fabric {

FlitSender::FlitSender(const FullLinkConfig& config, base::Counters<FullLinkCounter>& counters)
    : config_(config),
      counters_(counters),
      retry_(config.window, config.flit_payload_max, config.retry_timeout, config.first_timeout,
             config.failures_max) {
  CHECK(config.flit_payload_max >= kFlitPayloadMin && config.flit_payload_max <= kFlitPayloadMax);
  for (std::size_t vl = 0; vl < kLaneCount; ++vl) {
    if ((config.lanes_mask >> vl & 1) == 0) continue;
    lanes_[vl].bytes.resize(std::bit_ceil(config.lane_queue_bytes));
    lanes_[vl].lengths = base::Ring<std::uint32_t>(config.lane_queue_bytes / kCellBytesMin);
  }
  start(Lsn(1));
}

void FlitSender::start(Lsn first) {
  retry_.start(first);
  waiting_ = 0;
  schedule_ = {};
  for (Lane& lane : lanes_) {
    lane.head = lane.tail = 0;
    lane.lengths.clear();
    lane.sent = 0;
    lane.gate.start(config_.peer_receive_blocks);
  }
}

bool FlitSender::post(std::uint8_t vl, base::Bytes cell) {
  CHECK(vl < kLaneCount && (config_.lanes_mask >> vl & 1) != 0);
  CHECK(!cell.empty() && cell.size() <= config_.cell_bytes_max);
  Lane& lane = lanes_[vl];
  if (!fits(vl, cell.size())) return false;
  const std::size_t at = lane.tail & (lane.bytes.size() - 1);
  const std::size_t first = std::min(cell.size(), lane.bytes.size() - at);
  std::memcpy(lane.bytes.data() + at, cell.data(), first);
  std::memcpy(lane.bytes.data(), cell.data() + first, cell.size() - first);
  lane.tail += cell.size();
  lane.lengths.push(static_cast<std::uint32_t>(cell.size()));
  waiting_ = static_cast<std::uint16_t>(waiting_ | 1U << vl);
  return true;
}

std::size_t FlitSender::next_bytes(const Lane& lane) const {
  return std::min<std::size_t>(lane.lengths[0] - lane.sent, config_.flit_payload_max);
}

std::uint16_t FlitSender::ready_mask() const {
  std::uint16_t ready = 0;
  for (std::uint8_t vl = 0; vl < kLaneCount; ++vl) {
    if ((waiting_ >> vl & 1) == 0) continue;
    const Lane& lane = lanes_[vl];
    if (vl == kMgmtLane || lane.gate.may_send(blocks_of(next_bytes(lane)))) {
      ready = static_cast<std::uint16_t>(ready | 1U << vl);
    }
  }
  return ready;
}

void FlitSender::copy_out(Lane& lane, base::MutableBytes to) {
  const std::size_t at = lane.head & (lane.bytes.size() - 1);
  const std::size_t first = std::min(to.size(), lane.bytes.size() - at);
  std::memcpy(to.data(), lane.bytes.data() + at, first);
  std::memcpy(to.data() + first, lane.bytes.data(), to.size() - first);
  lane.head += to.size();
}

std::optional<std::uint8_t> FlitSender::next_lane() {
  if (retry_.has_resend()) return retry_.resend_lane();
  if (retry_.full()) return std::nullopt;
  const std::uint16_t ready = ready_mask();
  if (ready == 0) return std::nullopt;
  return static_cast<std::uint8_t>(schedule_.next(ready));
}

std::optional<RetrySender::Kept> FlitSender::next(base::Time now, std::uint16_t lanes) {
  const auto next = next_lane();
  if (!next || (lanes >> *next & 1) == 0) return std::nullopt;
  if (retry_.has_resend()) {
    counters_.add(FullLinkCounter::kTxResend);
    return retry_.resend(now);
  }
  const std::uint8_t vl = *next;
  Lane& lane = lanes_[vl];
  const std::size_t bytes = next_bytes(lane);
  FlitHeader header;
  header.vl = vl;
  if (lane.sent == 0) header.ctl |= kFlitSof;
  copy_out(lane, retry_.room().first(bytes));
  lane.sent += static_cast<std::uint32_t>(bytes);
  schedule_.on_sent(vl, kFlitHeaderBytes + bytes);
  if (vl != kMgmtLane) lane.gate.consume(blocks_of(bytes));
  if (lane.sent == lane.lengths[0]) {
    header.ctl |= kFlitEof;
    lane.lengths.pop();
    lane.sent = 0;
    if (lane.lengths.empty()) waiting_ = static_cast<std::uint16_t>(waiting_ & ~(1U << vl));
  }
  counters_.add(FullLinkCounter::kTxFlit);
  return retry_.push(now, header, bytes);
}

void FlitSender::on_credit(std::uint8_t vl, std::uint32_t limit) {
  if (vl == kMgmtLane) return;
  if (!lanes_[vl].gate.on_limit(limit)) counters_.add(FullLinkCounter::kRxDropCredit);
}

}  // namespace splitnic::fabric
