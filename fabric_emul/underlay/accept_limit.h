// Limits how often a listener serves a new connection: per user and in total, whatever becomes of
// the connections [M-8]. Each costs it a segment, and system calls in the thread that carries the
// traffic of all others. A burst lets all clients connect twice, as after a restart. Thread: one
// owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/token_bucket.h"

namespace splitnic::fabric {

class AcceptLimit {
 public:
  static constexpr std::uint64_t kPerSecondOfUser = 50;
  static constexpr std::uint64_t kPerSecond = 200;
  static constexpr std::uint64_t kBurstMin = 64;

  // `clock` outlives this; null: no limit.
  AcceptLimit(base::Clock* clock, std::size_t clients_max)
      : clock_(clock),
        burst_(std::max<std::uint64_t>(2 * clients_max, kBurstMin)),
        all_(kPerSecond, 2 * burst_) {}

  // Returns whether a connection of this user is served now. REQUIRES a user who may connect: each
  // is remembered until as much as that user took has flowed back.
  bool take(std::uint32_t user) {
    if (clock_ == nullptr) return true;
    const base::Time now = clock_->now();
    std::erase_if(of_users_, [&](const auto& entry) { return entry.second.is_full(now); });
    auto& own = of_users_.try_emplace(user, kPerSecondOfUser, burst_).first->second;
    if (!own.may_take(now) || !all_.take(1, now)) return false;
    own.charge(1);
    return true;
  }
  std::size_t users() const { return of_users_.size(); }  // that are remembered

 private:
  base::Clock* const clock_;
  const std::uint64_t burst_;
  std::map<std::uint32_t, base::TokenBucket> of_users_;
  base::TokenBucket all_;
};

}  // namespace splitnic::fabric
