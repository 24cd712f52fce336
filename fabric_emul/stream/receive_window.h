// The place of a cell in the incoming byte stream, and the tagged cells that were placed early.
// Invariant: the early cells lie in the window, in order of numbers, and do not overlap. Allocates
// in its constructor only. Thread: the data thread. docs/protocol/stream.md#byte-numbers
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric_emul/stream/table_d.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

// The part of a cell that is needed once the stream has caught up to it.
struct EarlyCell {
  StreamNumber number;
  std::uint32_t bytes = 0;  // of the whole cell
  MacHeader header{};
  VaMh va_mh{};
  std::optional<std::uint32_t> idata;
  bool touches = false;  // table D, row 5: its last byte is stored in the entry
  StreamNumber last_byte() const { return number + (bytes - 1); }
};

class ReceiveWindow {
 public:
  // REQUIRES bytes < 2^31.
  ReceiveWindow(std::uint32_t bytes, std::size_t early_max) : bytes_(bytes), early_max_(early_max) {
    early_.reserve(early_max);
  }

  void start(StreamNumber first) {
    expected_ = first;
    early_.clear();
    head_ = 0;
  }
  StreamNumber expected() const { return expected_; }
  std::uint32_t bytes() const { return bytes_; }

  StreamPlace place_of(StreamNumber number, std::uint32_t bytes) const {
    const std::int32_t distance = number - expected_;
    if (distance < 0 || is_beyond(number, bytes) || is_taken(number, bytes)) {
      return StreamPlace::kOutside;
    }
    return distance == 0 ? StreamPlace::kInOrder : StreamPlace::kEarly;
  }
  // Whether a cell outside the window lies beyond it; otherwise it was taken already.
  bool is_beyond(StreamNumber number, std::uint32_t bytes) const {
    const std::int32_t distance = number - expected_;
    return distance >= 0 && static_cast<std::uint64_t>(distance) + bytes > bytes_;
  }

  bool has_room() const { return early_count() < early_max_; }
  std::size_t early_count() const { return early_.size() - head_; }
  // REQUIRES has_room() and that the cell's place is kEarly.
  void keep(const EarlyCell& cell) {
    early_.erase(early_.begin(), first());
    head_ = 0;
    early_.insert(first_not_before(cell.number), cell);
  }
  // The early cell that is next in order, or nullptr.
  const EarlyCell* due() const {
    return early_count() > 0 && early_[head_].number == expected_ ? &early_[head_] : nullptr;
  }
  // REQUIRES due(). The cell that due() returned stays readable until keep().
  void pop_due() { ++head_; }
  template <class Fn>
  void for_each_early(Fn&& fn) const {
    std::for_each(first(), early_.end(), fn);
  }
  // The cell at expected() was taken.
  void advance(std::uint32_t bytes) { expected_ = expected_ + bytes; }

 private:
  using At = std::vector<EarlyCell>::const_iterator;
  At first() const { return early_.begin() + static_cast<std::ptrdiff_t>(head_); }
  At first_not_before(StreamNumber number) const {
    return std::lower_bound(
        first(), early_.end(), number,
        [](const EarlyCell& cell, StreamNumber value) { return before(cell.number, value); });
  }
  // Any byte of it was kept.
  bool is_taken(StreamNumber number, std::uint32_t bytes) const {
    const At at = first_not_before(number);
    if (at != early_.end() && before(at->number, number + bytes)) return true;
    return at != first() && !before(std::prev(at)->last_byte(), number);
  }

  std::uint32_t bytes_;
  std::size_t early_max_;
  StreamNumber expected_;
  std::vector<EarlyCell> early_;  // from head_ on
  std::size_t head_ = 0;
};

}  // namespace splitnic::fabric
