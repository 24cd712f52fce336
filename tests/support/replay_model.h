// The contract of ReplayWindow, by remembering everything.
#pragma once

#include <cstdint>
#include <set>

#include "fabric_emul/session/replay_window.h"

namespace splitnic::support {

class ReplayModel {
 public:
  using Window = fabric::session::ReplayWindow;

  Window::Verdict accept(std::uint64_t counter) {
    if (counter >= Window::kCounterEnd) return Window::Verdict::kRefused;
    const bool is_highest = seen_.empty() || counter > *seen_.rbegin();
    if (!is_highest && *seen_.rbegin() - counter > Window::kSpan) return Window::Verdict::kRefused;
    if (!seen_.insert(counter).second) return Window::Verdict::kRefused;
    return is_highest ? Window::Verdict::kHighest : Window::Verdict::kNew;
  }
  std::uint64_t highest() const { return seen_.empty() ? 0 : *seen_.rbegin(); }

 private:
  std::set<std::uint64_t> seen_;
};

}  // namespace splitnic::support
