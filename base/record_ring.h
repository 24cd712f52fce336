// Records of bytes on their way from one thread to another, oldest first: a byte ring of fixed size
// with one writer and one reader, and no lock. A record is copied in and lies in one piece; one for
// which there is no room is refused. Memory that was never used is never touched.
// Thread: push() from one thread, front() and pop() from one other.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/check.h"

namespace splitnic::base {

class RecordRing {
 public:
  // The size is rounded up to a power of two. REQUIRES bytes >= 64.
  explicit RecordRing(std::size_t bytes)
      : size_(std::bit_ceil(bytes)), memory_(std::make_unique_for_overwrite<std::byte[]>(size_)) {
    CHECK(bytes >= 64);
  }

  // Adds a record that consists of both parts. Returns false if there is no room for it.
  bool push(Bytes head, Bytes body) {
    const std::size_t bytes = head.size() + body.size();
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t used = tail - head_.load(std::memory_order_acquire);
    const std::size_t needed = room_of(bytes);
    const std::size_t to_end = size_ - tail % size_;
    const std::size_t skipped = to_end < needed ? to_end : 0;
    if (bytes >= kSkip || needed > size_ || used + skipped + needed > size_) return false;
    if (skipped > 0) put_length(tail, kSkip);
    const std::uint64_t at = tail + skipped;
    put_length(at, static_cast<std::uint32_t>(bytes));
    std::byte* const to = place(at) + kLengthBytes;
    if (!head.empty()) std::memcpy(to, head.data(), head.size());
    if (!body.empty()) std::memcpy(to + head.size(), body.data(), body.size());
    tail_.store(at + needed, std::memory_order_release);
    return true;
  }

  bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
  }
  // Returns the oldest record, which is valid until pop(). REQUIRES !empty().
  Bytes front() const {
    const std::uint64_t at = position_of_front();
    return {place(at) + kLengthBytes, length_at(at)};
  }
  // Removes the oldest record. REQUIRES !empty().
  void pop() {
    const std::uint64_t at = position_of_front();
    head_.store(at + room_of(length_at(at)), std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t kSkip = 0xffffffff;  // the rest up to the end of the memory
  static constexpr std::size_t kLengthBytes = 8;      // so that every record begins at 8

  static std::size_t room_of(std::size_t bytes) { return round_up(kLengthBytes + bytes, 8); }
  std::byte* place(std::uint64_t position) const { return memory_.get() + position % size_; }
  void put_length(std::uint64_t position, std::uint32_t length) {
    std::memcpy(place(position), &length, sizeof length);
  }
  std::uint32_t length_at(std::uint64_t position) const {
    std::uint32_t length = 0;
    std::memcpy(&length, place(position), sizeof length);
    return length;
  }
  std::uint64_t position_of_front() const {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    CHECK(head != tail_.load(std::memory_order_acquire));
    return length_at(head) == kSkip ? head + size_ - head % size_ : head;
  }

  const std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;
  // Bytes so far; each on its own cache line, as each has another writer.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace splitnic::base
