// Cells that wait for their output port, in order, in one allocation made at start. Thread: the
// data thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"

namespace splitnic::fabric {

class CellQueue {
 public:
  explicit CellQueue(std::size_t bytes_max) : bytes_(bytes_max) {}

  bool empty() const { return begin_ == end_; }
  std::size_t cells() const { return cells_; }
  // Copies a cell. Returns false if there is no room.
  bool push(base::Bytes cell, std::uint8_t vl) {
    const std::size_t needed = kHead + cell.size();
    if (bytes_.size() - end_ < needed) compact();
    if (bytes_.size() - end_ < needed) return false;
    const auto size = static_cast<std::uint32_t>(cell.size());
    std::memcpy(&bytes_[end_], &size, sizeof(size));
    bytes_[end_ + sizeof(size)] = static_cast<std::byte>(vl);
    std::memcpy(&bytes_[end_ + kHead], cell.data(), cell.size());
    end_ += needed;
    ++cells_;
    return true;
  }
  // REQUIRES !empty(), as pop() does. Valid until the next push().
  base::Bytes front() const { return {&bytes_[begin_ + kHead], front_bytes()}; }
  std::uint8_t front_vl() const {
    CHECK(!empty());
    return std::to_integer<std::uint8_t>(bytes_[begin_ + sizeof(std::uint32_t)]);
  }
  void pop() {
    begin_ += kHead + front_bytes();
    --cells_;
    if (empty()) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = cells_ = 0; }

 private:
  static constexpr std::size_t kHead = sizeof(std::uint32_t) + 1;  // length and lane

  std::size_t front_bytes() const {
    CHECK(!empty());
    std::uint32_t size = 0;
    std::memcpy(&size, &bytes_[begin_], sizeof(size));
    return size;
  }
  void compact() {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }

  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0, end_ = 0, cells_ = 0;
};

}  // namespace splitnic::fabric
