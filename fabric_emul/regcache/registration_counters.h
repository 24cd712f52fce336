// Counters of the registration cache. One thread, the cache's.
#pragma once

#include "base/counters.h"

namespace splitnic::fabric {

enum class RegCounter {
  kHit,
  kMiss,
  kMerged,        // entries that a wider one took the place of
  kRegistered,    // at the table, by the cache
  kDeregistered,  // at the table, by the cache
  kUncached,      // registered for one user only
  kEvicted,
  kCollected,
  kInvalidated,
  kDead,      // the table had ended it, found at a request
  kQuiesced,  // requests that must wait
  kFailed,    // requests that could not be registered
  kKernelEntry,
  kCount_
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::RegCounter> {
  static constexpr std::array<std::string_view,
                              static_cast<std::size_t>(splitnic::fabric::RegCounter::kCount_)>
      kNames{"host.reg.hit",         "host.reg.miss",         "host.reg.merged",
             "host.reg.registered",  "host.reg.deregistered", "host.reg.uncached",
             "host.reg.evicted",     "host.reg.collected",    "host.reg.invalidated",
             "host.reg.dead",        "host.reg.quiesced",     "host.reg.failed",
             "host.reg.kernel_entry"};
};
