// Ends registrations that nobody needs any more [S003-06]: the stated exception to keeping them
// . Stale is an entry whose owner is gone, and an idle one that was not used for long or too
// seldom. An entry in use is never ended; that of an owner who is gone serves no further request.
// Thread: the cache's. Time comes in.
#pragma once

#include <functional>

#include "base/clock.h"
#include "fabric_emul/regcache/registration_cache.h"

namespace splitnic::fabric {

struct GcConfig {
  base::Duration period = std::chrono::seconds(1);
  base::Duration idle_max = std::chrono::seconds(60);  // since the last request
  std::uint64_t uses_min = 0;  // in a whole period; 0: how often does not matter
};

class RegistrationGc {
 public:
  using OwnerLives = std::function<bool(OwnerId)>;

  // `cache` must outlive it. `owner_lives` is asked once a collection for each owner but 0.
  RegistrationGc(RegistrationCache& cache, OwnerLives owner_lives, const GcConfig& config)
      : cache_(cache), owner_lives_(std::move(owner_lives)), config_(config) {}

  // Passes the time to the cache, and collects if a period is over. Returns how many entries were
  // stale.
  std::size_t poll(base::Time now);
  base::Time deadline() const { return next_; }

 private:
  RegistrationCache& cache_;
  OwnerLives owner_lives_;
  GcConfig config_;
  base::Time next_{};
};

}  // namespace splitnic::fabric
