// Waits for a few descriptors and a deadline, as the idle strategy decided. An iteration that does
// not sleep skips the poll system call, too, where a read costs no more than the poll. Thread: its
// owner, the data thread.
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
  // Watches a descriptor; -1 is allowed and never ready. Returns its number for want() and
  // readable(). reads_without_poll: a read costs its owner no more than a poll, so it counts as
  // readable in iterations that skip the poll.
  std::size_t add(int fd, bool reads_without_poll = false) {
    fds_.push_back({fd, POLLIN, 0});
    own_.push_back(fd);
    reads_without_poll_.push_back(reads_without_poll);
    return fds_.size() - 1;
  }
  // Leaves the descriptor out of the waits, in which it is then never ready, not even with an
  // error; or takes it in.
  void watch(std::size_t which, bool is_watched) { fds_[which].fd = is_watched ? own_[which] : -1; }
  void want(std::size_t which, bool input, bool output) {
    fds_[which].events = static_cast<short>((input ? POLLIN : 0) | (output ? POLLOUT : 0));
  }
  // The descriptor is never ready from now on, not even with an error.
  void forget(std::size_t which) { fds_[which].fd = own_[which] = -1; }
  // After forget(): watches this descriptor instead.
  void replace(std::size_t which, int fd) { fds_[which].fd = own_[which] = fd; }
  // kSleep: waits until a descriptor is ready or `deadline` comes. Otherwise does not wait; one of
  // kIterationsPerPoll such iterations polls, and each one while output is wanted.
  void wait(Time now, Time deadline, IdleStrategy::Step step) {
    if (step == IdleStrategy::Step::kYield) ::sched_yield();
    const bool may_skip =
        step != IdleStrategy::Step::kSleep && ++skipped_polls_ < kIterationsPerPoll;
    if (may_skip && std::ranges::none_of(fds_, [](auto& p) { return (p.events & POLLOUT) != 0; })) {
      for (std::size_t i = 0; i < fds_.size(); ++i) {
        fds_[i].revents = static_cast<short>(reads_without_poll_[i] ? fds_[i].events & POLLIN : 0);
      }
      return;
    }
    skipped_polls_ = 0;
    const bool sleeps = step == IdleStrategy::Step::kSleep && deadline > now;
    const Duration left = sleeps ? std::min<Duration>(deadline - now, kSleepMax) : Duration{0};
    const timespec timeout{.tv_sec = left.count() / 1'000'000'000,
                           .tv_nsec = left.count() % 1'000'000'000};
    if (ppoll(fds_.data(), fds_.size(), &timeout, nullptr) > 0) return;
    for (pollfd& p : fds_) p.revents = 0;
  }
  // Input, or an error that a read will report.
  bool readable(std::size_t which) const {
    return (fds_[which].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
  }
  bool writable(std::size_t which) const { return (fds_[which].revents & POLLOUT) != 0; }

 private:
  static constexpr Duration kSleepMax = std::chrono::seconds(10);
  static constexpr unsigned kIterationsPerPoll = 16;
  std::vector<pollfd> fds_;
  std::vector<int> own_;  // also of those that are not watched
  std::vector<bool> reads_without_poll_;
  unsigned skipped_polls_ = 0;
};

}  // namespace splitnic::base
