// Which keys that are not known here have been reported lately: each once per minute, and of all no
// more than kKeysMax, since a stranger can present any number of them. Thread: its owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "fabric_emul/session/crypto.h"

namespace splitnic::control {

class UnknownKeys {
 public:
  static constexpr base::Duration kOnceIn = std::chrono::minutes(1);
  static constexpr std::size_t kKeysMax = 16;

  // Returns whether the key is to be reported now.
  bool note(const fabric::session::PublicKey& key, base::Time now) {
    std::erase_if(reported_, [now](const Reported& one) { return now >= one.at + kOnceIn; });
    if (reported_.size() == kKeysMax ||
        std::ranges::find(reported_, key, &Reported::key) != reported_.end()) {
      return false;
    }
    reported_.push_back({key, now});
    return true;
  }

 private:
  struct Reported {
    fabric::session::PublicKey key;
    base::Time at;
  };
  std::vector<Reported> reported_;
};

}  // namespace splitnic::control
