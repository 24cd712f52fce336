#include "fabric_emul/link/link.h"

#include <algorithm>
#include <cstring>

#include "fabric_emul/link/port.h"

namespace splitnic::fabric {
namespace {

// Segments of one UDP_SEGMENT call that every kernel takes.
constexpr std::size_t kDatagramsPerBatch = 64;

}  // namespace

std::string_view name(LinkState state) {
  switch (state) {
    case LinkState::kFree:
      return "FREE";
    case LinkState::kConnecting:
      return "CONNECTING";
    case LinkState::kUp:
      return "UP";
    case LinkState::kSilent:
      return "SILENT";
  }
  return "unknown";
}

void Link::commit(std::size_t cell_bytes) {
  CHECK(cell_bytes <= reserved_);
  reserved_ = 0;
  if (cell_bytes == 0) return;
  if (full_ != nullptr) return commit_on_lane(cell_bytes);
  FlitHeader header;
  header.vl = vl_;
  header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
  if (crc_head_only_) header.ctl |= kFlitCellCrcHeadOnly;
  header.size = static_cast<std::uint16_t>(cell_bytes);
  used_ += seal_flit(batch_.subspan(used_), header);
  counters_.add(LinkCounter::kTxFlit);
  if (!queued_) port_.queue(*this);
}

bool Link::make_room(std::size_t need) {
  CHECK(need <= buffer_.size());
  if (used_ > 0 && need <= batch_stride_ && datagram_end_ + batch_stride_ <= batch_end_) {
    std::memset(batch_.data() + used_, 0, datagram_end_ - used_);  // filler
    used_ = datagram_end_;
    datagram_end_ += batch_stride_;
    return true;
  }
  if (!flush()) return false;
  start_batch(std::max(stride_, need), need);
  return true;
}

// The room is asked for when there is something to write, so that none is held between batches.
void Link::start_batch(std::size_t stride, std::size_t first_bytes) {
  if (!is_lent_) {
    const base::MutableBytes lent = underlay_.lend(address_, first_bytes);
    CHECK(lent.empty() || lent.size() >= buffer_.size());
    is_lent_ = !lent.empty();
    batch_ = is_lent_ ? lent : base::MutableBytes(buffer_);
  }
  used_ = 0;
  reserved_ = 0;
  batch_stride_ = stride;
  datagram_end_ = stride;
  // A cell beyond the stride goes alone: its batch is one datagram.
  const std::size_t datagrams =
      stride > stride_ ? 1 : std::min(buffer_.size() / stride, kDatagramsPerBatch);
  batch_end_ = datagrams * stride;
}

void Link::end_batch() {
  used_ = reserved_ = 0;
  datagram_end_ = batch_end_ = batch_stride_ = 0;
}

void Link::give_back_room() {
  if (!is_lent_) return;
  if (used_ > 0) std::memcpy(buffer_.data(), batch_.data(), used_);
  batch_ = buffer_;
  is_lent_ = false;
  underlay_.give_back(address_);
}

void Link::set_address(const PeerAddress& address) {
  if (address != address_) give_back_room();
  address_ = address;
}

bool Link::flush() {
  if (used_ == 0) return true;
  switch (underlay_.send(address_, batch_.first(used_), batch_stride_)) {
    case Underlay::SendStatus::kSent:
      counters_.add(LinkCounter::kTxBatch);
      counters_.add(LinkCounter::kTxBytes, used_);
      sent_ = true;
      sent_full_ = sent_full_ || (used_ >= stride_ && batch_stride_ >= stride_);
      break;
    case Underlay::SendStatus::kBlocked:
      if (!blocked_) counters_.add(LinkCounter::kTxBlocked);
      blocked_ = true;
      return false;
    case Underlay::SendStatus::kTooLong:
      counters_.add(LinkCounter::kTxDropTooLong);
      narrowed_ = true;
      break;
    case Underlay::SendStatus::kRefused:
      counters_.add(LinkCounter::kTxDropRefused);
      break;
  }
  blocked_ = false;
  is_lent_ = false;
  end_batch();
  return true;
}

void Link::drop_batch() {
  if (used_ > 0) counters_.add(LinkCounter::kTxDropDown);
  blocked_ = false;
  starved_lanes_ = 0;
  end_batch();
  give_back_room();
}

void Link::forget_peer() {
  state_ = LinkState::kFree;
  peer_eui64_ = Eui64();
  peer_instance_ = 0;
  local_lid_ = remote_lid_ = Lid();
  set_address(PeerAddress{});
  path_stride_ = 0;
}

void Link::set_mcp(std::uint16_t mcp) {
  if (mcp != mcp_) probe_.start(mcp + kStrideOverhead);
  mcp_ = mcp;
  stride_ = mcp + kStrideOverhead;
  const std::size_t room = std::max(stride_, underlay_.batch_bytes_max());
  if (buffer_.size() < room) {
    CHECK(used_ == 0);
    give_back_room();
    buffer_.resize(room);
    batch_ = buffer_;
  }
  if (used_ == 0) end_batch();
}

}  // namespace splitnic::fabric
