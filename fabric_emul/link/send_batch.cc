#include "fabric_emul/link/send_batch.h"

namespace splitnic::fabric {

bool SendBatch::make_room(std::size_t flit_bytes, std::uint8_t dscp) {
  CHECK(flit_bytes <= buffer_.size());
  if (used_ > 0 && dscp == dscp_ && flit_bytes <= batch_stride_ &&
      datagram_end_ + batch_stride_ <= batch_end_) {
    std::memset(room_.data() + used_, 0, datagram_end_ - used_);  // filler
    used_ = datagram_end_;
    datagram_end_ += batch_stride_;
    return true;
  }
  if (!flush()) return false;
  start(std::max(stride_, flit_bytes), flit_bytes, dscp);
  return true;
}

// Room is claimed when there is something to write, so that none is held between batches.
void SendBatch::start(std::size_t stride, std::size_t first_bytes, std::uint8_t dscp) {
  if (!is_claimed_) {
    const base::MutableBytes claimed = underlay_.claim(address_, first_bytes);
    CHECK(claimed.empty() || claimed.size() >= buffer_.size());
    is_claimed_ = !claimed.empty();
    room_ = is_claimed_ ? claimed : base::MutableBytes(buffer_);
  }
  used_ = 0;
  reserved_ = 0;
  dscp_ = dscp;
  batch_stride_ = stride;
  datagram_end_ = stride;
  // A flit beyond the stride goes alone: its batch is one datagram.
  const std::size_t datagrams =
      stride > stride_ ? 1 : std::min(buffer_.size() / stride, kDatagramsMax);
  batch_end_ = datagrams * stride;
}

void SendBatch::clear() {
  used_ = reserved_ = 0;
  datagram_end_ = batch_end_ = batch_stride_ = 0;
}

void SendBatch::abort_claim() {
  if (!is_claimed_) return;
  if (used_ > 0) std::memcpy(buffer_.data(), room_.data(), used_);
  room_ = buffer_;
  is_claimed_ = false;
  underlay_.abort(address_);
}

void SendBatch::set_address(const PeerAddress& address) {
  if (address != address_) abort_claim();
  address_ = address;
}

void SendBatch::set_stride(std::size_t stride) {
  stride_ = stride;
  const std::size_t room = std::max(stride_, underlay_.batch_bytes_max());
  if (buffer_.size() < room) {
    CHECK(used_ == 0);
    abort_claim();
    buffer_.resize(room);
    room_ = buffer_;
  }
  if (used_ == 0) clear();
}

Underlay::SendStatus SendBatch::send() {
  if (is_claimed_) return underlay_.commit(address_, used_, batch_stride_);
  const std::uint8_t of_control = dscp_of_lane_[kMgmtLane];
  if (dscp_ != of_control) underlay_.set_dscp(dscp_, of_control);
  const auto status = underlay_.send(address_, room_.first(used_), batch_stride_);
  if (dscp_ != of_control) underlay_.set_dscp(of_control, of_control);
  return status;
}

bool SendBatch::flush() {
  if (used_ == 0) return true;
  switch (send()) {
    case Underlay::SendStatus::kSent:
      counters_.add(LinkCounter::kTxBatch);
      counters_.add(LinkCounter::kTxBytes, used_);
      outcome_.is_sent = true;
      outcome_.longest = std::max(outcome_.longest, std::min(used_, batch_stride_));
      break;
    case Underlay::SendStatus::kBlocked:
      if (!is_blocked_) counters_.add(LinkCounter::kTxBlocked);
      is_blocked_ = true;
      return false;
    case Underlay::SendStatus::kTooLong:
      counters_.add(LinkCounter::kTxDropTooLong);
      outcome_.is_too_long = true;
      break;
    case Underlay::SendStatus::kRefused:
      counters_.add(LinkCounter::kTxDropRefused);
      break;
  }
  is_blocked_ = false;
  is_claimed_ = false;
  clear();
  return true;
}

void SendBatch::drop() {
  if (used_ > 0) counters_.add(LinkCounter::kTxDropDown);
  if (is_blocked_) underlay_.forget(room_.first(used_));
  is_blocked_ = false;
  clear();
  abort_claim();
}

}  // namespace splitnic::fabric
