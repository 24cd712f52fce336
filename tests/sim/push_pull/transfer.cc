#include "tests/sim/push_pull/transfer.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/endian.h"
#include "messaging/wire/buffer_recv_pool_update.h"

namespace splitnic::sim {
namespace {

using namespace fabric::testing;  // NOLINT(google-build-using-namespace): the harness is built of
                                  // it
using messaging::BufferRecvPoolUpdate;

constexpr std::size_t kDepth = 4 * kBuffers;
constexpr std::size_t kMessageSlots = 2 * kBuffers;
constexpr base::Duration kIteration = std::chrono::microseconds(1);
constexpr messaging::PoolRef kPool{1};
static_assert(kBuffers % kReturnBatch == 0);  // no Update wraps

}  // namespace

std::uint64_t Sent::all_packets() const {
  return std::accumulate(packets.begin(), packets.end(), std::uint64_t{0});
}

Sent operator-(const Sent& a, const Sent& b) {
  Sent out = a;
  for (std::size_t i = 0; i < out.packets.size(); ++i) out.packets[i] -= b.packets[i];
  out.cells -= b.cells;
  out.acks -= b.acks;
  out.retransmitted -= b.retransmitted;
  return out;
}

Transfer::Transfer(const TransferConfig& config)
    : config_(config), pair_(PairOptions{}, make_carrier()) {
  CHECK(config.frame_bytes >= 16 && config.frame_bytes <= kBufferBytes);
  CHECK(pair_.run_until([this] { return !pair_.b().links.empty(); }));
  fabric::QpInit control, data;
  control.common.send_depth = control.common.receive_depth = kDepth;
  data.common.send_depth = data.common.receive_depth = kDepth;
  data.common.max_dest_rd_atomic = fabric::kReadsMax;
  const auto channels = pair_.connect_all({control, data});
  CHECK(channels.size() == 2);
  control_ = channels[0];
  data_ = channels[1];
  source_ = &sender().memory(kBuffers * kBufferBytes);
  destination_ = &receiver().memory(kBuffers * kBufferBytes);
  for (End* end : {&sender(), &receiver()}) {
    Channel0& channel = channel0(*end);
    channel.outgoing = &end->memory(kBuffers * kMessageBytesMax);
    channel.incoming = &end->memory(kMessageSlots * kMessageBytesMax);
    for (std::size_t slot = 0; slot < kMessageSlots; ++slot) post_message_receive(*end, slot);
    end->tap.is_recording = true;
  }
  for (std::size_t i = 0; i < kDepth; ++i) CHECK(receiver().post_recv(data_.a));
  carrier_->begin();
}

// All that the buffers hold waits in front of the line, so none is lost.
std::unique_ptr<Carrier> Transfer::make_carrier() {
  PathConfig path;
  path.delay = config_.delay;
  path.buffer_bytes = 4 * kBuffers * kBufferBytes;
  auto made = std::make_unique<BottleneckCarrier>(path, 1, kIteration);
  carrier_ = made.get();
  return made;
}

void Transfer::post_message_receive(End& end, std::uint64_t slot) {
  const fabric::Qpn qpn = &end == &sender() ? control_.b : control_.a;
  const Memory& slots = *channel0(end).incoming;
  CHECK(end.post_recv(qpn, {slots.sge(slot * kMessageBytesMax, kMessageBytesMax)}, slot));
}

void Transfer::send_message(End& from, base::Bytes message) {
  CHECK(message.size() <= kMessageBytesMax);
  Channel0& channel = channel0(from);
  const std::size_t at = channel.next++ % kBuffers * kMessageBytesMax;
  std::ranges::copy(message, channel.outgoing->bytes.begin() + static_cast<std::ptrdiff_t>(at));
  const fabric::Qpn qpn = &from == &sender() ? control_.b : control_.a;
  CHECK(from.post_send(qpn, {channel.outgoing->sge(at, message.size())}));
}

// Returns the message that a receive brought; it is valid until the next iteration.
base::Bytes Transfer::repost(End& end, const fabric::Wc& wc) {
  CHECK(wc.status == fabric::WcStatus::kSuccess);
  if (wc.op == fabric::WcOp::kReceiveRdmaIdata) CHECK(end.post_recv(wc.qpn));
  if (wc.op != fabric::WcOp::kReceive) return {};
  post_message_receive(end, wc.wr_id);
  return base::Bytes(channel0(end).incoming->bytes).subspan(wc.wr_id * kMessageBytesMax, wc.bytes);
}

// A frame carries its number at both ends.
void Transfer::stamp(Memory& memory, std::uint64_t number, bool checks) {
  std::byte* const first = memory.bytes.data() + number % kBuffers * kBufferBytes;
  for (std::byte* at : {first, first + config_.frame_bytes - sizeof(number)}) {
    if (checks) CHECK(base::load_be<std::uint64_t>(at) == number);
    if (!checks) base::store_be(at, number);
  }
}

void Transfer::on_frame(std::size_t buffer) {
  CHECK(buffer == arrived_ % kBuffers);
  stamp(*destination_, arrived_, true);
  ++arrived_;
  arrived_at_ = pair_.now();
  if (arrived_ % kReturnBatch != 0) return;
  const auto first = static_cast<std::uint32_t>((arrived_ - kReturnBatch) % kBuffers);
  const std::array<messaging::ElementRange, 1> range{{{kPool, first, kReturnBatch}}};
  std::array<std::byte, BufferRecvPoolUpdate::bytes(1)> message{};
  BufferRecvPoolUpdate::emit(messaging::kUnsolicited, range, message);
  send_message(receiver(), message);
}

void Transfer::on_update(base::Bytes message) {
  const auto update = BufferRecvPoolUpdate::parse(message);
  CHECK(update && update->size() == 1 && (*update)[0].pool == kPool);
  CHECK((*update)[0].first == returned_ % kBuffers);
  returned_ += (*update)[0].count;
  CHECK(returned_ <= begun_);
}

bool Transfer::take_at_receiver() {
  End& end = receiver();
  const bool made_progress = !end.received.empty() || !end.sent.empty();
  for (const fabric::Wc& wc : end.received) on_completion(wc, repost(end, wc));
  for (const fabric::Wc& wc : end.sent) {
    CHECK(wc.status == fabric::WcStatus::kSuccess);
    on_completion(wc, {});
  }
  end.received.clear();
  end.sent.clear();
  return made_progress;
}

bool Transfer::take_at_sender() {
  End& end = sender();
  bool made_progress = !end.received.empty() || !end.sent.empty();
  for (const fabric::Wc& wc : end.received) on_update(repost(end, wc));
  for (const fabric::Wc& wc : end.sent) CHECK(wc.status == fabric::WcStatus::kSuccess);
  end.received.clear();
  end.sent.clear();
  for (; begun_ < wanted_ && begun_ - returned_ < kBuffers; ++begun_) {
    stamp(*source_, begun_, false);
    begun_at_ = pair_.now();
    send_frame(begun_ % kBuffers);
    made_progress = true;
  }
  return made_progress;
}

void Transfer::count() {
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    Sent& sent = sent_[i];
    for (const TappedCell& cell : pair_.end(i).tap.cells) {
      if (!cell.sent) continue;
      const fabric::MacHeader header = cell.header();
      if (header.op == fabric::Op::kAck || header.op == fabric::Op::kNak) {
        ++sent.acks;
        continue;
      }
      ++sent.cells;
      if (fabric::is_first(header.pos)) ++sent.packets[static_cast<std::size_t>(header.op)];
      if ((header.flags & fabric::kFlagRetransmission) != 0) ++sent.retransmitted;
    }
    pair_.end(i).tap.cells.clear();
  }
}

void Transfer::step(base::Time until) {
  const base::Time now = pair_.now();
  bool made_progress = false;
  base::Time next = until;
  for (End* end : {&receiver(), &sender()}) {
    made_progress |= end->adapter->receive(now);
    end->drain();
    made_progress |= end == &receiver() ? take_at_receiver() : take_at_sender();
    end->adapter->transmit(now);
    if (end->adapter->wants_write()) end->adapter->on_writable(now);
  }
  count();
  carrier_->after_step();
  if (made_progress) return;
  for (End* end : {&receiver(), &sender()}) next = std::min(next, end->adapter->deadline());
  carrier_->wait(next);
}

template <class Done>
void Transfer::step_until(const Done& is_done) {
  const base::Time limit = pair_.now() + std::chrono::hours(1);
  while (!is_done()) {
    CHECK(pair_.now() < limit);
    step(limit);
  }
}

// Until all acknowledgements have arrived and no timer of a transfer runs.
void Transfer::rest() {
  const base::Time until = pair_.now() + std::chrono::seconds(1);
  while (pair_.now() < until) step(until);
  CHECK(arrived_ == begun_ && carrier_->dropped() == 0);
}

Sustained Transfer::sustain(std::size_t warm_up, std::size_t frames) {
  const std::uint64_t begin = begun_ + warm_up;
  const std::array<Sent, 2> before = sent_;
  Sustained out;
  out.frames = warm_up + frames;
  wanted_ = begun_ + out.frames;
  step_until([&] { return arrived_ >= begin; });
  const std::uint64_t arrived = arrived_;
  const base::Time since = pair_.now();
  step_until([&] { return arrived_ == wanted_; });
  out.timed_frames = arrived_ - arrived;
  out.took = pair_.now() - since;
  rest();
  out.by_sender = sent_[1] - before[1];
  out.by_receiver = sent_[0] - before[0];
  return out;
}

base::Duration Transfer::lone_frame() {
  ++wanted_;
  step_until([&] { return arrived_ == wanted_; });
  const base::Duration took = arrived_at_ - begun_at_;
  rest();
  return took;
}

}  // namespace splitnic::sim
