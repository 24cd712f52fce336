// A ring of variable-size frames in one contiguous arena that the owner has registered with the
// adapter, so a frame is read once into memory that an RDMA write can gather from. Reserved at the
// head, released at the tail in the order of commits (completions of an RC queue pair come in
// order). Thread: the data thread of its owner. The arena must outlive the ring.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ring.h"
#include "lan_bridge/frame/mtu.h"
#include "lan_bridge/frame/vnet_header.h"

namespace splitnic::lan {

// The room that a reader reserves: the longest frame and headroom to put a VLAN tag back.
inline constexpr std::size_t kFrameReserve = 65664;

class FrameRing {
 public:
  FrameRing() : commits_(1) {}  // without memory: nothing can be reserved
  // REQUIRES arena.size() >= 2 * kFrameReserve. frames_max bounds the frames that are committed and
  // not released.
  FrameRing(base::MutableBytes arena, std::size_t frames_max)
      : arena_(arena), commits_(frames_max) {
    CHECK(arena.size() >= 2 * kFrameReserve);
  }

  // Returns contiguous room of `bytes` at the head, or an empty span if the ring has none now.
  // Nothing is taken until commit(); another reserve() before it returns the same room.
  base::MutableBytes reserve(std::size_t bytes = kFrameReserve) {
    bytes = base::round_up(bytes, 64);
    if (commits_.full()) return {};
    if (commits_.empty()) head_ = tail_ = 0;
    if (head_ >= tail_) {
      if (arena_.size() - head_ >= bytes) return arena_.subspan(head_, bytes);
      if (tail_ > bytes) return arena_.first(bytes);  // wrap: strictly below the tail
      return {};
    }
    if (tail_ - head_ > bytes) return arena_.subspan(head_, bytes);
    return {};
  }
  // Takes the room up to `end`, which lies in the span that reserve() returned last.
  void commit(const std::byte* end) {
    head_ = offset_after(end);
    commits_.push({head_, false});
  }
  // Frees the oldest frame that was not discarded.
  void release() {
    tail_ = commits_.front().end;
    commits_.pop();
    pop_discarded();
  }
  // Frees a committed frame that ends at `end`, as soon as those before it are free.
  void discard(const std::byte* end) {
    const std::size_t offset = offset_after(end);
    std::size_t i = commits_.size();
    while (i > 0 && commits_[i - 1].end != offset) --i;
    CHECK(i > 0);
    commits_[i - 1].is_discarded = true;
    pop_discarded();
  }
  std::size_t frames() const { return commits_.size(); }
  base::Bytes arena() const { return arena_; }

 private:
  struct Commit {
    std::size_t end = 0;
    bool is_discarded = false;
  };
  std::size_t offset_after(const std::byte* end) const {
    const auto offset = static_cast<std::size_t>(end - arena_.data());
    CHECK(offset <= arena_.size());
    return std::min(base::round_up(offset, 64), arena_.size());
  }
  void pop_discarded() {
    while (!commits_.empty() && commits_.front().is_discarded) {
      tail_ = commits_.front().end;
      commits_.pop();
    }
  }

  base::MutableBytes arena_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  base::Ring<Commit> commits_;  // oldest first
};

}  // namespace splitnic::lan
