// The heartbeats of the data threads of a process. The service manager is notified when all threads
// have reported since the last notification, so a thread that hangs, of whatever queue, is noticed.
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"

namespace splitnic::control {

class Heartbeats {
 public:
  static constexpr std::uint32_t kThreadsMax = 32;

  // REQUIRES 1 to kThreadsMax.
  explicit Heartbeats(std::uint32_t threads) : all_(mask_of(threads)) {}

  // Thread `number`, from 0, does its work. Returns true to one of them, the last, once all have
  // reported since the last time.
  bool beat(std::uint32_t number) {
    const std::uint32_t own = std::uint32_t{1} << number;
    std::uint32_t before = beaten_.load(std::memory_order_relaxed);
    std::uint32_t after = 0;
    do {
      after = (before | own) == all_ ? 0 : before | own;
    } while (!beaten_.compare_exchange_weak(before, after, std::memory_order_relaxed));
    return after == 0;
  }

 private:
  static std::uint32_t mask_of(std::uint32_t threads) {
    CHECK(threads >= 1 && threads <= kThreadsMax);
    return UINT32_MAX >> (kThreadsMax - threads);
  }

  const std::uint32_t all_;
  std::atomic<std::uint32_t> beaten_{0};
};

}  // namespace splitnic::control
