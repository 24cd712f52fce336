// A bounded FIFO over one allocation made at start; indices are free-running.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "base/check.h"

namespace splitnic::base {

template <typename T>
class Ring {
 public:
  // Capacity is rounded up to a power of two; REQUIRES capacity >= 1.
  explicit Ring(std::size_t capacity) : slots_(std::bit_ceil(capacity)), limit_(capacity) {}

  std::size_t size() const { return tail_ - head_; }
  std::size_t capacity() const { return limit_; }
  bool empty() const { return head_ == tail_; }
  bool full() const { return size() >= limit_; }
  T& push(T value) {
    CHECK(!full());
    T& slot = slots_[tail_++ & (slots_.size() - 1)];
    slot = std::move(value);
    return slot;
  }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  // i-th from the front.
  T& operator[](std::size_t i) { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & (slots_.size() - 1)]; }
  void pop() {
    CHECK(!empty());
    slots_[head_++ & (slots_.size() - 1)] = T{};
  }
  void pop_back() {
    CHECK(!empty());
    slots_[--tail_ & (slots_.size() - 1)] = T{};
  }
  void clear() {
    while (!empty()) pop();
  }

 private:
  std::vector<T> slots_;
  std::size_t limit_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace splitnic::base
