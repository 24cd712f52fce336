// The memory of a side that is attacked, in pieces with gaps between them. A piece is open while
// somebody may write to it. check() finds every other change: in a gap, or in a piece that is
// closed. A piece keeps its place, so that regions and windows can lie on it.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"

namespace splitnic::fuzz {

class GuardedMemory {
 public:
  static constexpr std::size_t kGapBytes = 64;
  static constexpr std::byte kGap{0xEE};

  // Room for pieces of this many bytes, their gaps included.
  explicit GuardedMemory(std::size_t bytes)
      : memory_(bytes, kGap), expected_(bytes, kGap), end_(kGapBytes) {
    CHECK(bytes >= kGapBytes);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // Adds a piece that is closed and returns its number.
  std::size_t add(std::size_t bytes, std::byte fill) {
    CHECK(end_ + bytes + kGapBytes <= memory_.size());
    pieces_.push_back({end_, bytes, false});
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(end_), bytes, fill);
    std::fill_n(expected_.begin() + static_cast<std::ptrdiff_t>(end_), bytes, fill);
    end_ += bytes + kGapBytes;
    return pieces_.size() - 1;
  }
  base::MutableBytes piece(std::size_t number) {
    return base::MutableBytes(memory_).subspan(pieces_[number].at, pieces_[number].bytes);
  }
  // The piece and the gaps at both sides of it: it begins kGapBytes later.
  base::MutableBytes with_gaps(std::size_t number) {
    return base::MutableBytes(memory_).subspan(pieces_[number].at - kGapBytes,
                                               pieces_[number].bytes + 2 * kGapBytes);
  }

  void open(std::size_t number) { pieces_[number].is_open = true; }
  // From now on the piece keeps what it holds.
  void close(std::size_t number) {
    Piece& p = pieces_[number];
    if (!p.is_open) return;
    p.is_open = false;
    std::memcpy(&expected_[p.at], &memory_[p.at], p.bytes);
  }
  void check() const {
    std::size_t at = 0;
    for (const Piece& p : pieces_) {
      if (!p.is_open) continue;
      CHECK(std::memcmp(&memory_[at], &expected_[at], p.at - at) == 0);
      at = p.at + p.bytes;
    }
    CHECK(std::memcmp(&memory_[at], &expected_[at], memory_.size() - at) == 0);
  }

 private:
  struct Piece {
    std::size_t at = 0;
    std::size_t bytes = 0;
    bool is_open = false;
  };

  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;  // of what is closed
  std::vector<Piece> pieces_;
  std::size_t end_;
};

}  // namespace splitnic::fuzz
