#include "fabric_emul/session/replay_window.h"

#include <algorithm>

namespace splitnic::fabric::session {

ReplayWindow::Verdict ReplayWindow::accept(std::uint64_t counter) {
  if (counter >= kCounterEnd) return Verdict::kRefused;
  const bool is_highest = counter >= next_;
  if (is_highest) {
    // The words between the old highest and the new one hold what left the window.
    const std::uint64_t last = next_ == 0 ? 0 : (next_ - 1) / 64;
    const std::uint64_t count = std::min(counter / 64 - last, kWords);
    for (std::uint64_t i = 1; i <= count; ++i) words_[(last + i) % kWords] = 0;
    next_ = counter + 1;
  } else if (next_ - 1 - counter > kSpan) {
    return Verdict::kRefused;
  }
  std::uint64_t& word = words_[counter / 64 % kWords];
  const std::uint64_t bit = std::uint64_t{1} << counter % 64;
  if ((word & bit) != 0) return Verdict::kRefused;
  word |= bit;
  return is_highest ? Verdict::kHighest : Verdict::kNew;
}

}  // namespace splitnic::fabric::session
