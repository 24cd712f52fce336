// Frames, both ways, in the order of a turn:
//   1. poll_sends      completions of pushes
//   2. poll_receives   messages and indications in the order of arrival -> `arrived`
//   3. receive         out of `arrived`, in place
//   4. release         the element or slot is free again
//   5. push            by SendData or RDMA write, never two ways at once
#include <algorithm>

#include "base/check.h"
#include "messaging/channel_impl.h"

namespace splitnic::messaging {
namespace {

// BufferRecvPoolGet: looked at once a span; for so many frames; and not again before.
constexpr base::Duration kAskSpan = std::chrono::milliseconds(100);
constexpr base::Duration kAskAgainAfter = std::chrono::seconds(1);
constexpr std::uint32_t kAskPackets = 64;

using Where = ReceivedFrame::Where;
using Kind = MessageChannel::Kind;

}  // namespace

bool ChannelPair::Impl::poll_sends(bool& made_progress) {
  auto broken = control->poll_sends(made_progress);
  if (!broken && data != nullptr) broken = data->poll_sends(made_progress);
  if (!broken && by_send != nullptr) broken = by_send->poll_sends(made_progress);
  if (broken) fail(*broken);
  return !broken;
}

bool ChannelPair::Impl::poll_receives(base::Time now) {
  fabric::WcBatch wcs;
  bool made_progress = false;
  for (std::size_t n; (n = adapter.poll_cq(*recv_cq, wcs)) > 0;) {
    made_progress = true;
    for (std::size_t i = 0; i < n; ++i) {
      if (wcs[i].qpn == control->qpn())
        take_message(*control, dispatch, wcs[i], now);
      else if (data != nullptr)
        take_write(wcs[i], now);
      else
        take_message(*by_send, data_dispatch, wcs[i], now);
      if (!is_alive()) return true;
    }
  }
  return made_progress;
}

void ChannelPair::Impl::take_message(MessageChannel& channel, MessageDispatch& by,
                                     const fabric::Wc& wc, base::Time now) {
  if (wc.status == fabric::WcStatus::kLocalLength && mode == Mode::kSend) {
    // Unacknowledged: only this message is lost.
    drops.add(DropReason::kTooLong);
    by.note_error(DropReason::kTooLong, now);
    if (auto posted = channel.drop(wc); !posted) fail(posted.error().text());
    return;
  }
  const auto broken = channel.take(wc, [&](base::MutableBytes message, std::uint32_t slot) {
    at_hand = {&channel, message, slot, false};
    counters.add(PairCounter::kMessageRx);
    static_cast<void>(by.dispatch(message, now));
    at_hand.channel = nullptr;
    return at_hand.is_kept;
  });
  if (broken) fail(*broken);
}

void ChannelPair::Impl::take_write(const fabric::Wc& wc, base::Time now) {
  std::optional<std::string> broken;
  const auto filled = data->take(wc, now, broken);
  if (broken) return fail(*broken);
  if (!filled) {
    drops.add(filled.error());
    dispatch.note_error(filled.error(), now);
    return;
  }
  counters.add(PairCounter::kWriteRx);
  arrived.push(
      {data->memory(*filled), filled->pool.value, filled->element, filled->count, Where::kElement});
}

// An element that a message of channel 0 indicated [S001-21].
void ChannelPair::Impl::on_filled(const FilledElement& filled) {
  counters.add(PairCounter::kIndicatedRx);
  arrived.push(
      {data->memory(filled), filled.pool.value, filled.element, filled.count, Where::kElement});
}

// The frame stays in its slot until release(); no slot to spare: dropped [requirements 2.1].
Verdict ChannelPair::Impl::on_send_data(const SendData& message, base::Time) {
  counters.add(PairCounter::kSendDataRx);
  if (!at_hand.channel->may_keep() || arrived.full()) {
    counters.add(PairCounter::kDropNoSlot);
    return {};
  }
  at_hand.is_kept = true;
  const Where where = at_hand.channel == control.get() ? Where::kControlSlot : Where::kDataSlot;
  arrived.push({at_hand.bytes.subspan(SendData::kFixedBytes, message.data.size()), 0, at_hand.slot,
                1, where});
  return {};
}

std::size_t ChannelPair::Impl::receive(std::span<ReceivedFrame> out) {
  std::size_t n = 0;
  for (; n < out.size() && !arrived.empty(); ++n) {
    out[n] = arrived.front();
    arrived.pop();
  }
  return n;
}

base::Status ChannelPair::Impl::release(const ReceivedFrame& frame, base::Time now) {
  switch (frame.where) {
    case Where::kControlSlot:
      return control->release(frame.element);
    case Where::kDataSlot:
      return by_send->release(frame.element);
    case Where::kElement:
      break;
  }
  return data->release({PoolRef(frame.pool), frame.element, frame.elements, 0, {}}, now);
}

bool ChannelPair::Impl::push(base::Bytes frame, base::Time now) {
  if (state != ChannelState::kUp) return false;
  const auto offset = static_cast<std::uint64_t>(frame.data() - frames.data());
  CHECK(offset + frame.size() <= frames.size());
  const fabric::Sge piece{fabric::VirtualAddress(frames_start.value + offset),
                          static_cast<std::uint32_t>(frame.size()), frames_handle};
  if (by_send != nullptr) return push_by_message(*by_send, piece);
  if (frame.size() <= std::min<std::size_t>(config.send_threshold, control->frame_bytes_max())) {
    return data->is_quiet() && push_by_message(*control, piece);
  }
  return control->open_sends(Kind::kFrame) == 0 && push_by_write(piece, now);
}

bool ChannelPair::Impl::push_by_message(MessageChannel& channel, const fabric::Sge& frame) {
  if (!channel.send_frame(frame)) return false;
  counters.add(PairCounter::kSendDataTx);
  return true;
}

bool ChannelPair::Impl::push_by_write(const fabric::Sge& frame, base::Time now) {
  switch (data->push(frame, control->open_sends(Kind::kIndication) > 0)) {
    case DataChannel::Push::kTaken:
      break;
    case DataChannel::Push::kNoElement:
      ask_for_more(frame.length, now);
      return false;
    case DataChannel::Push::kNoRoom:
      return false;
  }
  counters.add(PairCounter::kWriteTx);
  if (waiting_since != base::kNever) {
    waited += now - waiting_since;
    waiting_since = base::kNever;
  }
  return true;
}

std::size_t ChannelPair::Impl::frame_bytes_max() const {
  if (by_send != nullptr) return by_send->frame_bytes_max();
  return pool_user.largest_element();
}

// Only one way has pushes open at a time, so this is the order of push().
std::size_t ChannelPair::Impl::take_completed() {
  if (control == nullptr) return 0;
  std::size_t completed = control->take_completed_frames();
  if (data != nullptr) completed += data->take_completed();
  if (by_send != nullptr) completed += by_send->take_completed_frames();
  return completed;
}

std::size_t ChannelPair::Impl::pushes_in_flight() const {
  if (control == nullptr) return 0;
  std::size_t open = control->open_sends(Kind::kFrame);
  if (data != nullptr) open += data->in_flight();
  if (by_send != nullptr) open += by_send->open_sends(Kind::kFrame);
  return open;
}

// Frames wait for elements more often than not: the peer's pools may be too small for the path
// [S001-13]. Nothing is owed and nothing waits for an answer.
void ChannelPair::Impl::ask_for_more(std::uint32_t frame_bytes, base::Time now) {
  if (waiting_since == base::kNever) waiting_since = now;
  const base::Duration span = now - wait_span_start;
  if (span < kAskSpan) return;
  const base::Duration all = waited + (now - std::max(waiting_since, wait_span_start));
  const bool is_persistent = 2 * all >= span;
  wait_span_start = now;
  waited = base::Duration{0};
  if (!is_persistent || now < ask_again) return;
  ask_again = now + kAskAgainAfter;
  if (pool_user.request_more(frame_bytes, kAskPackets)) counters.add(PairCounter::kAsked);
}

// True while our own reader holds the greater part of the elements: then memory is not what is
// missing.
bool ChannelPair::Impl::is_reader_slow() const {
  std::uint64_t elements = 0, filled = 0;
  pool_owner.visit([&](const OwnerPoolView& pool) {
    elements += pool.record.elements;
    filled += pool.filled;
  });
  return 2 * filled > elements;
}

// A pool for each wish that our bounds allow; the others are not answered.
void ChannelPair::Impl::grant_buffer_requests() {
  while (const auto buffer_request = pool_owner.next_buffer_request()) {
    const std::uint64_t size = base::round_up(buffer_request->packet_bytes, 64);
    const std::uint64_t bytes = size * buffer_request->packets;
    const bool fits =
        granted_pools < DataChannel::kGrantPoolsMax && buffer_request->packets <= kIdataElements &&
        size <= kIdataBytesMax &&
        granted_elements + buffer_request->packets <= DataChannel::kGrantElementsMax &&
        granted_bytes + bytes <= config.grant_bytes_max;
    const PoolSpec spec{buffer_request->packets, static_cast<std::uint32_t>(size)};
    if (!fits || is_reader_slow() || config.idata_form == IdataForm::kOffsetLength ||
        !data->add_pool(pd, spec, buffer_request->context)) {
      counters.add(PairCounter::kRefused);
      continue;
    }
    ++granted_pools;
    granted_elements += buffer_request->packets;
    granted_bytes += bytes;
    counters.add(PairCounter::kGranted);
  }
}

}  // namespace splitnic::messaging
