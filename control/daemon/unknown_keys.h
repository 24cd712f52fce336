// Remembers unknown keys that were logged, so each is logged once per minute. It holds no more than
// kKeysMax, since a stranger can present any number of keys. Thread: its owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/session/crypto.h"

namespace splitnic::control {

class UnknownKeys {
 public:
  static constexpr base::Duration kOnceIn = std::chrono::minutes(1);
  static constexpr std::size_t kKeysMax = 16;

  enum class Report : std::uint8_t { kNothing, kKey, kThereAreMore };

  // Returns what is to be reported now: this key, or, once per minute, that there are more.
  Report note(const fabric::session::PublicKey& key, base::Time now) {
    std::erase_if(reported_, [now](const Reported& one) { return now >= one.at + kOnceIn; });
    if (std::ranges::find(reported_, key, &Reported::key) != reported_.end()) {
      return Report::kNothing;
    }
    if (reported_.size() < kKeysMax) {
      reported_.push_back({key, now});
      return Report::kKey;
    }
    if (now < more_at_) return Report::kNothing;
    more_at_ = now + kOnceIn;
    return Report::kThereAreMore;
  }

 private:
  struct Reported {
    fabric::session::PublicKey key;
    base::Time at;
  };
  std::vector<Reported> reported_;
  base::Time more_at_{};
};

}  // namespace splitnic::control
