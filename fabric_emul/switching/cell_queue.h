// Cells that wait on one lane of an output port, in order, in one ring of bytes that is allocated
// at start. With each is what it holds of the credits of the link that it came by. Thread: the data
// thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/check.h"
#include "fabric_emul/link/link.h"

namespace splitnic::fabric {

// A cell that is not forwarded yet, as its input counts it.
struct HeldCell {
  Link* link = nullptr;            // null: the input has no credits
  std::size_t* waiting = nullptr;  // bytes of the input that wait, or null
  CellCredit credit{};
};

class CellQueue {
 public:
  // Memory that no cell reaches is not touched.
  explicit CellQueue(std::size_t bytes_max)
      : bytes_max_(bytes_max), bytes_(std::make_unique_for_overwrite<std::byte[]>(bytes_max)) {}

  struct Head {
    HeldCell held;
    std::uint32_t size = 0;
  };
  static constexpr std::size_t kHead = sizeof(Head);

  bool empty() const { return cells_ == 0; }
  std::size_t cells() const { return cells_; }
  bool has_room(std::size_t cell_bytes) const { return place_of(kHead + cell_bytes) != kNoPlace; }
  // Copies a cell. REQUIRES has_room().
  void push(base::Bytes cell, const HeldCell& held) {
    const std::size_t at = place_of(kHead + cell.size());
    CHECK(at != kNoPlace);
    if (at != end_) wrap_ = end_;
    const Head head{held, static_cast<std::uint32_t>(cell.size())};
    std::memcpy(&bytes_[at], &head, kHead);
    std::memcpy(&bytes_[at + kHead], cell.data(), cell.size());
    end_ = at + kHead + cell.size();
    ++cells_;
  }
  // REQUIRES !empty(), as pop() does. Valid until pop().
  base::Bytes front() const { return {&bytes_[begin_ + kHead], head().size}; }
  HeldCell front_held() const { return head().held; }
  void pop() {
    begin_ += kHead + head().size;
    if (--cells_ == 0) {
      begin_ = end_ = 0;
      wrap_ = kNoPlace;
    } else if (begin_ == wrap_) {
      begin_ = 0;
      wrap_ = kNoPlace;
    }
  }

 private:
  static constexpr std::size_t kNoPlace = SIZE_MAX;

  // Returns the place where this many bytes in one piece fit: behind the last cell, or in front of
  // the first one once the end of the memory is reached.
  std::size_t place_of(std::size_t bytes) const {
    if (wrap_ != kNoPlace) return begin_ - end_ >= bytes ? end_ : kNoPlace;
    if (bytes_max_ - end_ >= bytes) return end_;
    return begin_ >= bytes ? 0 : kNoPlace;
  }
  Head head() const {
    CHECK(!empty());
    Head head;
    std::memcpy(&head, &bytes_[begin_], kHead);
    return head;
  }

  const std::size_t bytes_max_;
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t begin_ = 0, end_ = 0, cells_ = 0;
  std::size_t wrap_ = kNoPlace;  // where the cells end before they continue at 0
};

}  // namespace splitnic::fabric
