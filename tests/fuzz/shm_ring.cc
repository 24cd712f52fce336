// The other process of a shared-memory wire, which may write anything anywhere in the segment:
// indices, wake-up requests, heads of records, bytes. We put, put in place and take meanwhile.
// While it has written nothing, what is taken is what was put, in order and whole. Whatever it
// writes, a batch has a legal length, nothing outside the ring and the buffer is written, a ring
// that is broken moves no index, each index moves by one whole record, and neither passes the other
// as it was read.
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric_emul/underlay/shm_ring.h"
#include "tests/fuzz/targets.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using fabric::kShmBatchMax;
using fabric::kShmRecordHeader;
using fabric::kShmStep;
using fabric::ShmRing;
using support::Input;

constexpr int kShmRingStepsMax = 64;
constexpr std::size_t kRingBytes = 128 << 10;
constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xEE};

class RingRun {
 public:
  explicit RingRun(base::Bytes bytes)
      : in_(bytes),
        memory_(std::make_unique_for_overwrite<std::byte[]>(kRingBytes + 2 * kGuardBytes)),
        out_(std::make_unique_for_overwrite<std::byte[]>(kShmBatchMax + kGuardBytes)),
        ring_(memory_.get() + kGuardBytes, kRingBytes),
        putter_(control_, ring_),
        taker_(control_, ring_) {
    std::memset(memory_.get(), 0xEE, kGuardBytes);
    std::memset(memory_.get() + kGuardBytes + kRingBytes, 0xEE, kGuardBytes);
    std::memset(out_.get() + kShmBatchMax, 0xEE, kGuardBytes);
    std::memset(ring_.data(), 0, ring_.size());
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kShmRingStepsMax; ++steps) {
      step(in_.u8());
      check();
    }
  }

 private:
  struct Batch {
    std::size_t bytes = 0;
    std::size_t stride = 0;
    std::byte fill{};
  };

  void step(unsigned choice) {
    switch (choice % 8) {
      case 0:
      case 1:
        return put(choice >> 3);
      case 2:
        return put_in_place(choice >> 3);
      case 3:
      case 4:
        return take();
      case 5:
        return ask(choice >> 3);
      default:
        return lie(choice >> 3);
    }
  }
  Batch some_batch(unsigned choice) {
    const std::size_t bytes = choice < 16 ? 1 + in_.u16() % 1500 : 1 + in_.u16() % kShmBatchMax;
    return {bytes, std::size_t{1} + in_.u16(), std::byte{in_.u8()}};
  }
  void put(unsigned choice) {
    const Batch batch = some_batch(choice);
    const std::vector<std::byte> bytes(batch.bytes, batch.fill);
    note_put(putter_.put(bytes, batch.stride), batch);
  }
  void put_in_place(unsigned choice) {
    const Batch batch = some_batch(choice);
    const base::MutableBytes room = putter_.room();
    if (room.empty()) return;
    CHECK(room.size() == kShmBatchMax);
    CHECK(room.data() >= ring_.data() && room.data() + room.size() <= ring_.data() + ring_.size());
    std::memset(room.data(), std::to_integer<int>(batch.fill), batch.bytes);
    note_put(putter_.put_in_place(batch.bytes, batch.stride), batch);
  }
  void note_put(ShmRing::Result result, const Batch& batch) {
    if (result != ShmRing::Result::kDone) {
      CHECK(is_lied_to_ || result == ShmRing::Result::kWait);
      return CHECK(control_.head.load() == head_);
    }
    const std::size_t record = base::round_up(batch.bytes + kShmRecordHeader, kShmStep);
    head_ = control_.head.load();
    CHECK(head_ - std::exchange(put_to_, head_) == record);
    CHECK(head_ - control_.tail.load() <= kRingBytes);
    waiting_.push_back(batch);
  }
  void take() {
    std::size_t bytes = 0;
    std::size_t stride = 0;
    const std::uint32_t published = control_.head.load() - taken_to_;
    const ShmRing::Result result =
        taker_.take({out_.get(), kShmBatchMax + kGuardBytes}, bytes, stride);
    if (result != ShmRing::Result::kDone) {
      CHECK(is_lied_to_ || (result == ShmRing::Result::kWait && waiting_.empty()));
      return CHECK(control_.tail.load() == tail_);
    }
    CHECK(bytes > 0 && bytes <= kShmBatchMax && stride > 0 && stride <= bytes);
    const std::size_t record = base::round_up(bytes + kShmRecordHeader, kShmStep);
    tail_ = control_.tail.load();
    CHECK(tail_ - std::exchange(taken_to_, tail_) == record && record <= published);
    if (is_lied_to_) return;
    CHECK(!waiting_.empty());
    const Batch batch = waiting_.front();
    waiting_.pop_front();
    CHECK(bytes == batch.bytes && stride == std::min(batch.stride, batch.bytes));
    CHECK(out_[0] == batch.fill && std::memcmp(&out_[0], &out_[1], bytes - 1) == 0);
  }
  void ask(unsigned choice) {
    if (choice < 8) {
      const bool may_sleep = taker_.ask_for_wake();
      if (!is_lied_to_) CHECK(may_sleep == waiting_.empty());
    } else if (choice < 16) {
      static_cast<void>(putter_.should_wake_taker());
    } else {
      static_cast<void>(taker_.should_wake_putter());
    }
  }
  // The other process writes.
  void lie(unsigned choice) {
    is_lied_to_ = true;
    const std::uint32_t word =
        choice < 16 ? in_.u32() : static_cast<std::uint32_t>(in_.delta() * 64);
    switch (choice % 4) {
      case 0:
        control_.head.store(choice < 16 ? word : control_.head.load() + word);
        head_ = control_.head.load();
        break;
      case 1:
        control_.tail.store(choice < 16 ? word : control_.tail.load() + word);
        tail_ = control_.tail.load();
        break;
      case 2:
        (choice < 16 ? control_.taker_waits : control_.putter_waits).store(word);
        break;
      default: {
        const std::size_t at = in_.u16() * std::size_t{4} % (kRingBytes - sizeof(word));
        std::memcpy(ring_.data() + at, &word, sizeof(word));
      }
    }
  }
  void check() const {
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      CHECK(memory_[i] == kGuard && memory_[kGuardBytes + kRingBytes + i] == kGuard);
      CHECK(out_[kShmBatchMax + i] == kGuard);
    }
    if (is_lied_to_) return;
    CHECK(control_.head.load() == head_ && control_.tail.load() == tail_);
  }

  Input in_;
  std::unique_ptr<std::byte[]> memory_, out_;
  base::MutableBytes ring_;
  fabric::ShmRingControl control_{};
  ShmRing putter_, taker_;
  std::deque<Batch> waiting_;
  std::uint32_t head_ = 0, tail_ = 0;        // as the segment has them
  std::uint32_t put_to_ = 0, taken_to_ = 0;  // as we have published them last
  bool is_lied_to_ = false;
};

}  // namespace

// Steps of one byte and more.
void shm_ring(base::Bytes in) { RingRun(in).all(); }

}  // namespace splitnic::fuzz
