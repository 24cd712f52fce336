// What the data thread sleeps on: a few descriptors and a deadline. One ppoll a turn tells which of
// them have work; a turn that has work left does not sleep. Thread: its owner.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <vector>

#include "base/clock.h"

namespace splitnic::base {

class Poller {
 public:
  // A descriptor to watch; -1 is allowed and never ready. The number is for want() and ready().
  std::size_t add(int fd) {
    fds_.push_back({fd, POLLIN, 0});
    return fds_.size() - 1;
  }
  void want(std::size_t which, bool input, bool output) {
    fds_[which].events = static_cast<short>((input ? POLLIN : 0) | (output ? POLLOUT : 0));
  }
  // Sleeps until something is ready, `deadline` comes, or not at all if `busy`.
  void wait(Time now, Time deadline, bool busy) {
    const Duration left =
        busy || deadline <= now ? Duration{0} : std::min<Duration>(deadline - now, kLongest);
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
  std::vector<pollfd> fds_;
};

}  // namespace splitnic::base
