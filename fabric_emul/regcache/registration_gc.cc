#include "fabric_emul/regcache/registration_gc.h"

#include <map>

namespace splitnic::fabric {

std::size_t RegistrationGc::poll(base::Time now) {
  cache_.set_time(now);
  if (now < next_) return 0;
  next_ = now + config_.period;

  std::map<OwnerId, bool> lives;
  const auto owner_lives = [&](OwnerId owner) {
    if (owner == OwnerId{}) return true;
    const auto [known, is_new] = lives.try_emplace(owner, false);
    if (is_new) known->second = owner_lives_(owner);
    return known->second;
  };
  return cache_.collect([&](const Registration& entry) {
    if (!owner_lives(entry.owner)) return true;
    if (entry.users > 0) return false;
    const bool is_seldom = entry.rounds > 0 && entry.uses < config_.uses_min;
    return is_seldom || now - entry.last_used >= config_.idle_max;
  });
}

}  // namespace splitnic::fabric
