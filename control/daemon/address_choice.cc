#include "control/daemon/address_choice.h"

#include <algorithm>
#include <functional>

namespace splitnic::control {

bool AddressChoice::is_lookup_due(bool is_heard, base::Time now) {
  if (is_heard) {
    silent_since_.reset();
    known_.clear();
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
  const auto has = [](const std::vector<Endpoint>& all) {
    return [&all](const Endpoint& one) { return std::ranges::find(all, one) != all.end(); };
  };
  if (known_.empty()) known_ = found;
  std::erase_if(known_, std::not_fn(has(found)));
  const auto appeared = std::ranges::find_if_not(found, has(known_));
  const auto at = std::ranges::find(found, in_use_);
  if (at != found.end()) {
    const base::Duration time = appeared != found.end() ? kTryFor : try_for_;
    const bool may_stay = found.size() == 1 || now - tried_since_ < time;
    if (may_stay && !must_move_) return std::nullopt;
    try_for_ = std::min(2 * try_for_, kTryMax);
  }
  if (appeared != found.end()) {
    in_use_ = *appeared;
    known_.push_back(in_use_);
  } else {
    in_use_ = at == found.end() || at + 1 == found.end() ? found.front() : *(at + 1);
  }
  tried_since_ = now;
  must_move_ = false;
  return in_use_;
}

base::Time AddressChoice::deadline() const {
  return silent_since_ && !is_looking_up_ ? look_up_at_ : base::kNever;
}

}  // namespace splitnic::control
