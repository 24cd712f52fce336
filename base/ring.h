// A bounded FIFO over one allocation made at start; indices are free-running.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace splitnic::base {

template <typename T>
class Ring {
 public:
  // Capacity is rounded up to a power of two; REQUIRES capacity >= 1.
  explicit Ring(std::size_t capacity) : slots_(std::bit_ceil(capacity)), limit_(capacity) {}
  // The memory of one, without what its elements own.
  static constexpr std::size_t bytes_of(std::size_t capacity) {
    return std::bit_ceil(capacity) * sizeof(T);
  }

  std::size_t size() const { return tail_ - head_; }
  std::size_t capacity() const { return limit_; }
  bool empty() const { return head_ == tail_; }
  bool full() const { return size() >= limit_; }
  T& push(T value) { return push_slot() = std::move(value); }
  // Adds a last element with unspecified content, all of which the caller sets: on the data path a
  // value that is made elsewhere would be written twice.
  T& push_slot() {
    CHECK(!full());
    return slots_[tail_++ & (slots_.size() - 1)];
  }
  // Adds a first element.
  void push_front(T value) {
    CHECK(!full());
    slots_[--head_ & (slots_.size() - 1)] = std::move(value);
  }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  // Returns the i-th element from the front.
  T& operator[](std::size_t i) { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  void pop() {
    CHECK(!empty());
    release(slots_[head_++ & (slots_.size() - 1)]);
  }
  void pop_back() {
    CHECK(!empty());
    release(slots_[--tail_ & (slots_.size() - 1)]);
  }
  void clear() {
    while (!empty()) pop();
  }
  // The next element takes the first slot: a ring that is often empty keeps to few cache lines.
  // REQUIRES empty().
  void rewind() {
    CHECK(empty());
    head_ = tail_ = 0;
  }

 private:
  // Frees what the element owns at once.
  static void release(T& slot) {
    if constexpr (!std::is_trivially_destructible_v<T>) slot = T{};
  }

  std::vector<T> slots_;
  std::size_t limit_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace splitnic::base
