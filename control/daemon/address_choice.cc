#include "control/daemon/address_choice.h"

#include <algorithm>

namespace splitnic::control {

bool AddressChoice::is_lookup_due(bool is_heard, base::Time now) {
  if (is_heard) {
    silent_since_.reset();
    return false;
  }
  if (!silent_since_) {
    silent_since_ = tried_since_ = look_up_at_ = now;
    try_for_ = kTryFor;
  }
  if (is_looking_up_ || now < look_up_at_) return false;
  is_looking_up_ = true;
  return true;
}

std::optional<Endpoint> AddressChoice::on_found(const std::vector<Endpoint>& found,
                                                base::Time now) {
  is_looking_up_ = false;
  if (!silent_since_) return std::nullopt;
  look_up_at_ = now + (now - *silent_since_ < kOftenFor ? kLookUpEvery : kLookUpLater);
  if (found.empty()) return std::nullopt;
  const auto at = std::ranges::find(found, in_use_);
  if (at != found.end()) {
    const bool may_stay = found.size() == 1 || now - tried_since_ < try_for_;
    if (may_stay && !must_move_) return std::nullopt;
    in_use_ = at + 1 == found.end() ? found.front() : *(at + 1);
    try_for_ = std::min(2 * try_for_, kTryMax);
  } else {
    in_use_ = found.front();
  }
  tried_since_ = now;
  must_move_ = false;
  return in_use_;
}

base::Time AddressChoice::deadline() const {
  return silent_since_ && !is_looking_up_ ? look_up_at_ : base::kNever;
}

}  // namespace splitnic::control
