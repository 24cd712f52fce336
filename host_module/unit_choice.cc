#include "host_module/unit_choice.h"

#include <algorithm>

namespace splitnic::host {

void UnitChoice::set_usable(std::size_t unit, bool is_usable, base::Time now) {
  std::optional<base::Time>& since = units_[unit].usable_since;
  if (is_usable != since.has_value()) since = is_usable ? std::optional(now) : std::nullopt;
}

void UnitChoice::pass_over(base::Time now) {
  if (in_use_) units_[*in_use_].passed_over_until = now + kPassOverFor;
}

void UnitChoice::pin(std::size_t unit) {
  in_use_ = unit;
  is_pinned_ = true;
  units_[unit].passed_over_until = {};
}

base::Time UnitChoice::taken_at(std::size_t unit, base::Time now) const {
  const base::Time from = std::max(*units_[unit].usable_since, units_[unit].passed_over_until);
  if (is_in_need(now)) return from;
  if (!in_use_) return unit == 0 ? from : from + kPreferFor;
  if (unit >= *in_use_ || is_pinned_ || !failback_) return base::kNever;
  return from + *failback_;
}

std::optional<std::size_t> UnitChoice::successor(base::Time now) const {
  for (std::size_t i = 0; in_use_ && i < units_.size(); ++i) {
    if (i != *in_use_ && may_use(i, now)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> UnitChoice::choose(base::Time now) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (!is_usable(i) || now < taken_at(i, now)) continue;
    is_pinned_ = is_pinned_ && in_use_ == i;
    in_use_ = i;
    break;
  }
  deadline_ = base::kNever;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (is_usable(i)) deadline_ = std::min(deadline_, taken_at(i, now));
  }
  return in_use_;
}

}  // namespace splitnic::host
