// Cells that wait on one lane of an output port, in order, in one allocation made at start. It is
// filled from empty and emptied before it is filled once more, so its bytes never move. Thread: the
// data thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/check.h"

namespace splitnic::fabric {

class CellQueue {
 public:
  static constexpr std::size_t kHead = sizeof(std::uint32_t);  // of a cell: its length

  // Holds cells whose bytes and heads are `bytes_max` in total, counted since it was empty. Memory
  // that no cell reaches is not touched.
  explicit CellQueue(std::size_t bytes_max)
      : bytes_max_(bytes_max), bytes_(std::make_unique_for_overwrite<std::byte[]>(bytes_max)) {}

  bool empty() const { return begin_ == end_; }
  std::size_t cells() const { return cells_; }
  // Copies a cell. REQUIRES room for it.
  void push(base::Bytes cell) {
    CHECK(bytes_max_ - end_ >= kHead + cell.size());
    const auto size = static_cast<std::uint32_t>(cell.size());
    std::memcpy(&bytes_[end_], &size, sizeof(size));
    std::memcpy(&bytes_[end_ + kHead], cell.data(), cell.size());
    end_ += kHead + cell.size();
    ++cells_;
  }
  // REQUIRES !empty(), as pop() does. Valid until the queue is empty.
  base::Bytes front() const { return {&bytes_[begin_ + kHead], front_bytes()}; }
  void pop() {
    begin_ += kHead + front_bytes();
    --cells_;
    if (empty()) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = cells_ = 0; }

 private:
  std::size_t front_bytes() const {
    CHECK(!empty());
    std::uint32_t size = 0;
    std::memcpy(&size, &bytes_[begin_], sizeof(size));
    return size;
  }

  const std::size_t bytes_max_;
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t begin_ = 0, end_ = 0, cells_ = 0;
};

}  // namespace splitnic::fabric
