// Frames in both directions, in the order of one loop iteration:
//   1. poll_sends      completions of pushes
//   2. poll_receives   messages and indications in the order of arrival -> `arrived_`
//   3. receive         out of `arrived_`, in place
//   4. release         the element or slot is free again
//   5. push            by SendData or RDMA write, never both at the same time
#include <algorithm>
#include <span>

#include "base/check.h"
#include "messaging/channel_pair.h"

namespace splitnic::messaging {
namespace {

// BufferRecvPoolGet asks for elements for this many frames.
constexpr std::uint32_t kRequestPackets = 64;

using Where = ReceivedFrame::Where;
using Kind = MessageChannel::Kind;

}  // namespace

// Returns true if a send completed, or the error that broke a channel.
base::Result<bool> ChannelPair::poll_sends() {
  if (has_one_channel()) {
    return control_->poll_sends_and_writes([this] { data_->on_written(); });
  }
  auto control = control_->poll_sends();
  if (!control) return control;
  auto frames = data_ != nullptr ? data_->poll_sends() : by_send_->poll_sends();
  if (!frames) return frames;
  return *control || *frames;
}

bool ChannelPair::poll_receives(base::Time now) {
  fabric::WcBatch wcs;
  bool made_progress = false;
  for (std::size_t n; (n = adapter_.poll_cq(*recv_cq_, wcs)) > 0;) {
    made_progress = true;
    for (std::size_t i = 0; i < n; ++i) {
      if (has_one_channel())
        take_single(wcs[i], now);
      else if (wcs[i].qpn == control_->qpn())
        take_message(*control_, dispatch_, wcs[i], now);
      else if (data_ != nullptr)
        take_write(wcs[i], now);
      else
        take_message(*by_send_, data_dispatch_, wcs[i], now);
      if (!is_alive()) return true;
    }
  }
  return made_progress;
}

void ChannelPair::collect_arrived(base::Time now) {
  if (!recv_cq_ || data_ == nullptr) return;
  fabric::WcBatch wcs;
  for (std::size_t n; (n = adapter_.poll_cq(*recv_cq_, wcs)) > 0;) {
    for (const fabric::Wc& wc : std::span(wcs).first(n)) {
      const bool is_message = has_one_channel() ? !wc.has_idata : wc.qpn == control_->qpn();
      if (wc.status == fabric::WcStatus::kSuccess && !is_message) take_write(wc, now);
    }
  }
}

void ChannelPair::take_message(MessageChannel& channel, MessageDispatch& dispatch,
                               const fabric::Wc& wc, base::Time now) {
  if (wc.status == fabric::WcStatus::kLocalLength && mode() == Mode::kSend) {
    // Unacknowledged: only this message is lost.
    drops_.add(DropReason::kTooLong);
    dispatch.note_error(DropReason::kTooLong, now);
    if (const auto posted = channel.drop(wc); !posted) fail(posted.error().text());
    return;
  }
  const auto taken = channel.take(wc, [&](base::MutableBytes message, std::uint32_t slot) {
    current_ = {&channel, message, slot, false};
    counters_.add(PairCounter::kMessageRx);
    static_cast<void>(dispatch.dispatch(message, now));
    current_.channel = nullptr;
    return current_.is_kept;
  });
  if (!taken) fail(taken.error().text());
}

void ChannelPair::take_write(const fabric::Wc& wc, base::Time now) {
  const auto taken = data_->take(wc, now);
  if (!taken) return fail(taken.error().text());
  const Parsed<FilledElement>& filled = *taken;
  if (!filled) {
    drops_.add(filled.error());
    dispatch_.note_error(filled.error(), now);
    return;
  }
  counters_.add(PairCounter::kWriteRx);
  arrived_.push({data_->memory(*filled), filled->pool.value, filled->element, filled->count,
                 Where::kElement});
}

// The receive that an indication consumed is posted again at once: the peer's credit waits for no
// reader [S001-51].
void ChannelPair::take_single(const fabric::Wc& wc, base::Time now) {
  if (!wc.has_idata) return take_message(*control_, dispatch_, wc, now);
  if (const auto posted = control_->drop(wc); !posted) return fail(posted.error().text());
  take_write(wc, now);
}

// A message of channel 0 indicated this element [S001-21].
void ChannelPair::on_filled(const FilledElement& filled) {
  counters_.add(PairCounter::kIndicatedRx);
  arrived_.push(
      {data_->memory(filled), filled.pool.value, filled.element, filled.count, Where::kElement});
}

// The frame stays in its slot until release(); without a spare slot it is dropped.
Verdict ChannelPair::on_send_data(const SendData& message) {
  counters_.add(PairCounter::kSendDataRx);
  if (!current_.channel->may_keep() || arrived_.full()) {
    counters_.add(PairCounter::kDropNoSlot);
    return {};
  }
  current_.is_kept = true;
  const Where where = current_.channel == control_.get() ? Where::kControlSlot : Where::kDataSlot;
  arrived_.push({current_.bytes.subspan(SendData::kFixedBytes, message.data.size()), 0,
                 current_.slot, 1, where});
  return {};
}

std::size_t ChannelPair::receive(std::span<ReceivedFrame> out) {
  if (!is_alive()) return 0;
  std::size_t n = 0;
  for (; n < out.size() && !arrived_.empty(); ++n) {
    out[n] = arrived_.front();
    arrived_.pop();
  }
  return n;
}

void ChannelPair::release(const ReceivedFrame& frame, base::Time now) {
  if (!is_alive()) return;
  base::Status released;
  switch (frame.where) {
    case Where::kControlSlot:
      released = control_->release(frame.element);
      break;
    case Where::kDataSlot:
      released = by_send_->release(frame.element);
      break;
    case Where::kElement:
      released = data_->release({PoolRef(frame.pool), frame.element, frame.elements, 0, {}}, now);
      break;
  }
  if (!released) fail(released.error().text());
}

bool ChannelPair::push(base::Bytes frame, base::Time now) {
  if (state_ != State::kUp) return false;
  const auto offset = static_cast<std::uint64_t>(frame.data() - frames_.data());
  CHECK(offset + frame.size() <= frames_.size());
  const fabric::Sge piece{fabric::VirtualAddress(frames_start_.value + offset),
                          static_cast<std::uint32_t>(frame.size()), frames_handle_};
  if (by_send_ != nullptr) return push_by_message(*by_send_, piece);
  if (frame.size() <= std::min<std::size_t>(config_.send_threshold, control_->frame_bytes_max())) {
    return data_->is_quiet() && push_by_message(*control_, piece);
  }
  return control_->open_sends(Kind::kFrame) == 0 && push_by_write(frame, piece, now);
}

bool ChannelPair::push_by_message(MessageChannel& channel, const fabric::Sge& frame) {
  if (!channel.send_frame(frame)) return false;
  counters_.add(PairCounter::kSendDataTx);
  return true;
}

bool ChannelPair::push_by_write(base::Bytes frame, const fabric::Sge& piece, base::Time now) {
  const std::uint64_t flow_context =
      pool_user_.has_selecting_pools() ? config_.flow_context_of(frame) : 0;
  switch (data_->push(piece, control_->open_sends(Kind::kIndication) > 0, flow_context)) {
    case DataChannel::Push::kTaken:
      break;
    case DataChannel::Push::kNoElement:
      if (shortage_.on_wait(now) && pool_user_.request_more(piece.length, kRequestPackets)) {
        counters_.add(PairCounter::kAsked);
      }
      return false;
    case DataChannel::Push::kNoRoom:
      return false;
  }
  counters_.add(PairCounter::kWriteTx);
  shortage_.on_found(now);
  return true;
}

std::size_t ChannelPair::frame_bytes_max() const {
  if (by_send_ != nullptr) return by_send_->frame_bytes_max();
  return pool_user_.largest_element();
}

// Only one way has pushes in flight at a time, so this is the order of push().
std::size_t ChannelPair::take_completed() {
  if (control_ == nullptr) return 0;
  std::size_t completed = control_->take_completed_frames();
  if (data_ != nullptr) completed += data_->take_completed();
  if (by_send_ != nullptr) completed += by_send_->take_completed_frames();
  return completed;
}

std::size_t ChannelPair::pushes_in_flight() const {
  if (control_ == nullptr) return 0;
  std::size_t open = control_->open_sends(Kind::kFrame);
  if (data_ != nullptr) open += data_->in_flight();
  if (by_send_ != nullptr) open += by_send_->open_sends(Kind::kFrame);
  return open;
}

// Returns true while our own reader holds more than half of the elements: more memory would not
// help then.
bool ChannelPair::is_reader_slow() const {
  std::uint64_t elements = 0, filled = 0;
  pool_owner_.visit([&](const OwnerPoolView& pool) {
    elements += pool.record.elements;
    filled += pool.filled;
  });
  return 2 * filled > elements;
}

// Makes a pool for each request within our bounds; the other requests get no reply.
void ChannelPair::grant_buffer_requests() {
  while (const auto request = pool_owner_.next_buffer_request()) {
    const auto pool = grants_.pool_for(*request);
    if (!pool || state_ == State::kClosing || is_reader_slow() ||
        config_.idata_form == IdataForm::kOffsetLength ||
        !data_->add_pool(pd_, *pool, request->context)) {
      counters_.add(PairCounter::kRefused);
      continue;
    }
    grants_.take(*pool);
    counters_.add(PairCounter::kGranted);
  }
}

}  // namespace splitnic::messaging
