// What the data thread waits with: a few descriptors and a deadline. A turn that does not sleep
// does not ask the kernel what is ready either, where trying is as cheap. Thread: its owner.
#pragma once

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <vector>

#include "base/clock.h"
#include "base/idle_strategy.h"

namespace splitnic::base {

class Poller {
 public:
  // A descriptor to watch; -1 is allowed and never ready. The number is for want() and readable().
  // is_tried: its owner may as well try to read, so it counts as readable in turns that do not
  // sleep.
  std::size_t add(int fd, bool is_tried = false) {
    fds_.push_back({fd, POLLIN, 0});
    is_tried_.push_back(is_tried);
    return fds_.size() - 1;
  }
  void want(std::size_t which, bool input, bool output) {
    fds_[which].events = static_cast<short>((input ? POLLIN : 0) | (output ? POLLOUT : 0));
  }
  // kSleep: until something is ready or `deadline` comes. Else not at all; each kTurnsUnasked-th
  // such turn asks the kernel, and so does each while output is wanted.
  void wait(Time now, Time deadline, IdleStrategy::Step step) {
    if (step == IdleStrategy::Step::kYield) ::sched_yield();
    const bool may_skip = step != IdleStrategy::Step::kSleep && ++unasked_ < kIterationsPerPoll;
    if (may_skip && std::ranges::none_of(fds_, [](auto& p) { return (p.events & POLLOUT) != 0; })) {
      for (std::size_t i = 0; i < fds_.size(); ++i) {
        fds_[i].revents = static_cast<short>(is_tried_[i] ? fds_[i].events & POLLIN : 0);
      }
      return;
    }
    unasked_ = 0;
    const bool sleeps = step == IdleStrategy::Step::kSleep && deadline > now;
    const Duration left = sleeps ? std::min<Duration>(deadline - now, kLongest) : Duration{0};
    const timespec timeout{.tv_sec = left.count() / 1'000'000'000,
                           .tv_nsec = left.count() % 1'000'000'000};
    if (ppoll(fds_.data(), fds_.size(), &timeout, nullptr) > 0) return;
    for (pollfd& p : fds_) p.revents = 0;
  }
  // Input, or an error that reading will tell.
  bool readable(std::size_t which) const {
    return (fds_[which].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
  }
  bool writable(std::size_t which) const { return (fds_[which].revents & POLLOUT) != 0; }

 private:
  static constexpr Duration kLongest = std::chrono::seconds(10);
  static constexpr unsigned kIterationsPerPoll = 16;
  std::vector<pollfd> fds_;
  std::vector<bool> is_tried_;
  unsigned unasked_ = 0;
};

}  // namespace splitnic::base
