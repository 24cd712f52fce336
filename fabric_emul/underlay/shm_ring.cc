#include "fabric_emul/underlay/shm_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kRingBytesMin = 128 << 10;  // a longest record always fits

std::uint32_t record_bytes(std::size_t payload) {
  return static_cast<std::uint32_t>(base::round_up(kShmRecordHeader + payload, kShmStep));
}

}  // namespace

ShmRing::ShmRing(ShmRingControl& control, base::MutableBytes data)
    : control_(control), data_(data) {
  CHECK(std::has_single_bit(data.size()) && data.size() >= kRingBytesMin);
}

// Reads a word of a record that the other side may be changing: once per record.
std::uint32_t ShmRing::word_at(std::size_t position) const {
  auto* word = reinterpret_cast<std::uint32_t*>(data_.data() + (position & mask()));
  return std::atomic_ref<std::uint32_t>(*word).load(std::memory_order_relaxed);
}

void ShmRing::copy_in(std::uint32_t position, base::Bytes bytes) {
  const std::size_t at = position & mask();
  const std::size_t first = std::min(bytes.size(), data_.size() - at);
  std::memcpy(data_.data() + at, bytes.data(), first);
  std::memcpy(data_.data(), bytes.data() + first, bytes.size() - first);
}

void ShmRing::copy_out(std::uint32_t position, base::MutableBytes out) const {
  const std::size_t at = position & mask();
  const std::size_t first = std::min(out.size(), data_.size() - at);
  std::memcpy(out.data(), data_.data() + at, first);
  std::memcpy(out.data() + first, data_.data(), out.size() - first);
}

std::optional<std::size_t> ShmRing::free_bytes() const {
  const std::uint32_t used = head_ - control_.tail.load(std::memory_order_acquire);
  if (used > data_.size() || used % kShmStep != 0) return std::nullopt;
  return data_.size() - used;
}

ShmRing::Result ShmRing::put(base::Bytes bytes, std::size_t stride) {
  CHECK(!bytes.empty() && bytes.size() <= kShmBatchMax && stride > 0);
  const std::uint32_t needed = record_bytes(bytes.size());
  for (int attempt = 0;; ++attempt) {
    const auto free = free_bytes();
    if (!free) return Result::kBroken;
    if (*free >= needed) break;
    if (attempt > 0) return Result::kWait;
    // Request, then look again: the taker reads the request after it has moved its index.
    control_.putter_waits.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  copy_in(head_ + static_cast<std::uint32_t>(kShmRecordHeader), bytes);
  publish(bytes.size(), stride);
  return Result::kDone;
}

base::MutableBytes ShmRing::room() {
  const std::size_t at = (head_ & mask()) + kShmRecordHeader;
  if (data_.size() - at < kShmBatchMax) return {};
  if (free_bytes().value_or(0) < record_bytes(kShmBatchMax)) return {};
  return data_.subspan(at, kShmBatchMax);
}

// The room was free when room() returned it, and a taker only frees more.
ShmRing::Result ShmRing::put_in_place(std::size_t bytes, std::size_t stride) {
  CHECK(bytes > 0 && bytes <= kShmBatchMax && stride > 0);
  CHECK((head_ & mask()) + kShmRecordHeader + bytes <= data_.size());
  if (free_bytes().value_or(0) < record_bytes(bytes)) return Result::kBroken;
  publish(bytes, stride);
  return Result::kDone;
}

void ShmRing::publish(std::size_t bytes, std::size_t stride) {
  const std::uint32_t header[2] = {static_cast<std::uint32_t>(bytes),
                                   static_cast<std::uint32_t>(std::min(stride, bytes))};
  static_assert(sizeof(header) == kShmRecordHeader && kShmStep >= kShmRecordHeader);
  std::memcpy(data_.data() + (head_ & mask()), header, sizeof(header));
  head_ += record_bytes(bytes);
  control_.head.store(head_, std::memory_order_release);
}

ShmRing::Result ShmRing::take(base::MutableBytes out, std::size_t& bytes, std::size_t& stride) {
  CHECK(out.size() >= kShmBatchMax);
  const std::uint32_t waiting = control_.head.load(std::memory_order_acquire) - tail_;
  if (waiting == 0) return Result::kWait;
  if (waiting > data_.size() || waiting % kShmStep != 0) return Result::kBroken;
  const std::uint32_t length = word_at(tail_);
  const std::uint32_t record_stride = word_at(tail_ + sizeof(std::uint32_t));
  if (length == 0 || length > kShmBatchMax || record_bytes(length) > waiting ||
      record_stride == 0 || record_stride > length) {
    return Result::kBroken;
  }
  copy_out(tail_ + static_cast<std::uint32_t>(kShmRecordHeader), out.first(length));
  tail_ += record_bytes(length);
  control_.tail.store(tail_, std::memory_order_release);
  bytes = length;
  stride = record_stride;
  return Result::kDone;
}

// Request, then look again: the putter reads the request after it has moved its index.
bool ShmRing::ask_for_wake() {
  control_.taker_waits.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return control_.head.load(std::memory_order_acquire) == tail_;
}

bool ShmRing::should_wake_taker() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return control_.taker_waits.load(std::memory_order_relaxed) != 0 &&
         control_.taker_waits.exchange(0, std::memory_order_relaxed) != 0;
}

// Not for every record: only when half of the ring is free, which it is at the latest when the ring
// is empty.
bool ShmRing::should_wake_putter() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (control_.putter_waits.load(std::memory_order_relaxed) == 0) return false;
  const std::uint32_t used = control_.head.load(std::memory_order_relaxed) - tail_;
  if (used > data_.size() / 2) return false;
  return control_.putter_waits.exchange(0, std::memory_order_relaxed) != 0;
}

}  // namespace splitnic::fabric
