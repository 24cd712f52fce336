// Two channel pairs over pair_harness.h: the fixture of the messaging layer. Frames that arrive are
// received, checked against their number and released, unless `holds` is set.
//
//   ChannelFixture harness({.host = {.send_threshold = 512}});
//   ASSERT_TRUE(harness.connect());
//   harness.host().queue(1500);
//   harness.run_until([&] { return harness.unit().taken == 1; });
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/endian.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"
#include "tests/support/counter_sum.h"
#include "tests/support/pair_harness.h"

namespace splitnic::messaging::harness {

class ChannelSide final : public PairSide {
 public:
  static constexpr std::size_t kFrameBytesLeast = 12;
  static constexpr std::size_t kArenaFrames = 4096;

  using PairSide::PairSide;
  ~ChannelSide() override {
    if (pair) pair->close(clock_.now());
  }

  // Replaces the pair by a new one with `config`.
  void make_pair() {
    if (pair) pair->close(clock_.now());
    pair = std::make_unique<ChannelPair>(*adapter, config, random, *this);
    if (arena_.empty()) arena_.resize(arena_bytes);
    CHECK(pair->register_frames(arena_).has_value());
    queued_.clear();
    first_ = end_ = 0;
    lengths_.clear();
  }

  // Queues a numbered frame to be pushed: [number, 8 bytes][length, 4][pattern].
  void queue(std::size_t bytes) {
    CHECK(bytes >= kFrameBytesLeast);
    queued_.push_back(bytes);
  }
  // Returns the frame that the peer must receive for the queued one of this number.
  static std::vector<std::byte> frame_of(std::uint64_t number, std::size_t bytes) {
    std::vector<std::byte> frame(bytes);
    write(frame, number);
    return frame;
  }
  std::size_t queued() const { return queued_.size(); }
  // Returns the number of frames that the other side has received once all are delivered.
  std::uint64_t made() const { return made_ + queued_.size(); }

  bool step(base::Time now) {
    bool made_progress = adapter->poll(now);
    if (!pair || !polls) {
      adapter->transmit(now);
      return made_progress;
    }
    made_progress |= pair->poll(now);
    made_progress |= take(now);
    for (std::size_t done = pair->take_completed(); done > 0; --done) {
      first_ += lengths_.front();
      lengths_.pop_front();
      ++completed;
      made_progress = true;
    }
    while (pushes && push_next(now)) made_progress = true;
    made_progress |= pair->poll(now);
    adapter->transmit(now);
    return made_progress;
  }
  base::Time deadline() const {
    return pair ? std::min(adapter->deadline(), pair->deadline()) : adapter->deadline();
  }

  // REQUIRES a counter of that name.
  std::uint64_t count(std::string_view name) const {
    support::CounterSum sum(name);
    if (pair) pair->visit_counters(sum.visitor());
    adapter->visit_counters(sum.visitor());
    return sum.value();
  }
  // Returns the number of elements of our pools (ours) or the peer's, and how many are free.
  std::pair<std::size_t, std::size_t> pool_elements(bool ours) const {
    std::size_t elements = 0, available = 0;
    for (const PoolView& pool : pair->pools()) {
      if (pool.ours != ours) continue;
      elements += pool.elements;
      available += pool.available;
    }
    return {elements, available};
  }
  std::vector<std::uint32_t> pool_refs(bool ours) const {
    std::vector<std::uint32_t> refs;
    for (const PoolView& pool : pair->pools()) {
      if (pool.ours == ours) refs.push_back(pool.ref);
    }
    return refs;
  }
  void release_held(std::size_t count_max = SIZE_MAX) {
    for (; count_max > 0 && !held.empty(); --count_max) {
      pair->release(held.front(), clock_.now());
      held.pop_front();
    }
  }

  std::unique_ptr<ChannelPair> pair;
  std::size_t arena_bytes = 4 << 20;

  bool polls = true;     // false: only the adapter runs
  bool pushes = true;    // false: queued frames stay
  bool receives = true;  // false: frames that arrived stay in the pair
  bool holds = false;    // true: frames are received and not released
  std::uint64_t taken = 0, completed = 0;
  std::uint64_t gaps = 0;  // frames that were lost on the way
  std::deque<ReceivedFrame> held;
  std::vector<std::string> wrong;    // frames that changed, or are out of order
  std::vector<CfgRequest> requests;  // that arrived; echoed
  std::map<CfgCode, int> asked;
  std::function<CfgReply(const CfgRequest&)> make_reply;  // in place of the echo
  fabric::MgmtReject refused = fabric::MgmtReject::kNone;
  std::string refusal;

 private:
  bool push_next(base::Time now) {
    if (queued_.empty() || !pair->up()) return false;
    const std::size_t bytes = queued_.front();
    // The arena is a ring in which no frame wraps.
    std::size_t at = end_ % arena_.size();
    std::size_t skip = 0;
    if (at + bytes > arena_.size()) skip = arena_.size() - at;
    if (end_ + skip + bytes - first_ > arena_.size()) return false;
    at = (at + skip) % arena_.size();
    write(base::MutableBytes(arena_).subspan(at, bytes), made_);
    if (!pair->push(base::Bytes(arena_).subspan(at, bytes), now)) return false;
    end_ += skip + bytes;
    lengths_.push_back(skip + bytes);
    queued_.pop_front();
    ++made_;
    return true;
  }
  static std::byte pattern(std::uint64_t number, std::size_t i) {
    return static_cast<std::byte>(number * 131 + i * 7);
  }
  static void write(base::MutableBytes out, std::uint64_t number) {
    base::store_be(out.data(), number);
    base::store_be(out.data() + 8, static_cast<std::uint32_t>(out.size()));
    for (std::size_t i = kFrameBytesLeast; i < out.size(); ++i) out[i] = pattern(number, i);
  }
  void check(base::Bytes frame) {
    ++taken;
    const auto number = base::load_be<std::uint64_t>(frame.data());
    if (base::load_be<std::uint32_t>(frame.data() + 8) != frame.size()) wrong.push_back("length");
    for (std::size_t i = kFrameBytesLeast; i < frame.size(); ++i) {
      if (frame[i] == pattern(number, i)) continue;
      wrong.push_back("frame " + std::to_string(number) + " changed");
      break;
    }
    if (number < next_number_)
      wrong.push_back("frame " + std::to_string(number) + " is late");
    else
      gaps += number - next_number_;
    next_number_ = number + 1;
  }
  bool take(base::Time now) {
    if (!receives) return false;
    std::array<ReceivedFrame, 64> frames;
    bool made_progress = false;
    while (const std::size_t n = pair->receive(frames)) {
      made_progress = true;
      for (std::size_t i = 0; i < n; ++i) {
        check(frames[i].bytes);
        if (holds)
          held.push_back(frames[i]);
        else
          pair->release(frames[i], now);
      }
    }
    return made_progress;
  }

  CfgReply on_cfg_request(ChannelPair&, const CfgRequest& request) override {
    ++asked[request.code];
    if (make_reply) return make_reply(request);
    if (request.code != CfgCode::kEcho) return {CfgStatus::kUnknown, {}};
    return {CfgStatus::kOk, std::string(base::as_text(request.data))};
  }
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& from,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override {
    if (!pair) return fabric::MgmtReject::kRefused;
    if (queues_asked(request.private_data).is_additional()) {
      return pair->accept_data(id, from, request, reply);
    }
    if (pair->connection().value != 0) make_pair();
    return pair->accept(id, from, request, reply, clock_.now());
  }
  bool on_connected(fabric::ConnectionId, fabric::Link& to, const fabric::Mgmt& reply) override {
    return pair && pair->on_connected(to, reply);
  }
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code, base::Bytes data) override {
    refused = code;
    refusal = std::string(base::as_text(data));
    if (pair) pair->on_rejected(id, code, data);
  }
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override {
    if (pair) pair->on_disconnected(id, why);
  }

  std::vector<std::byte> arena_;
  std::deque<std::size_t> queued_, lengths_;
  std::uint64_t first_ = 0, end_ = 0;  // bytes of the arena in use
  std::uint64_t made_ = 0;
  std::uint64_t next_number_ = 0;
};

class ChannelFixture : public PairHarness<ChannelSide> {
 public:
  using PairHarness::PairHarness;

  // Connects the link and the pairs. Returns true if both are up.
  bool connect() {
    begin_connect();
    return run_until([&] { return unit().pair->up() && host().pair->up(); },
                     std::chrono::seconds(2));
  }
  void begin_connect() {
    link_up();
    unit().make_pair();
    host().make_pair();
    CHECK(host().pair->connect(*host().link, clock.now()).has_value());
  }
  // Returns true once everything that was queued has been delivered and no push is in flight.
  bool deliver(base::Duration limit = std::chrono::seconds(20)) {
    return run_until(
        [&] {
          return unit().taken + unit().gaps == host().made() &&
                 host().taken + host().gaps == unit().made() &&
                 unit().pair->pushes_in_flight() == 0 && host().pair->pushes_in_flight() == 0;
        },
        limit);
  }
  // The host requests an ECHO, whose reply counts in echo_replies. Returns false if it cannot.
  bool request_echo() {
    const auto requested = host().pair->request(
        CfgCode::kEcho, "x", [this](const CfgReply& reply) { echo_replies += reply.replied; });
    return requested.has_value();
  }

  int echo_replies = 0;
};

}  // namespace splitnic::messaging::harness
