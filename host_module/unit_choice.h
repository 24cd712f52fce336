// Chooses the I/O unit that a host uses among several. They are numbered in the order of
// preference, and the choice follows which of them can be used: at the start the preferred one, or
// another one if that is not there within kPreferFor; the next one when the unit in use cannot be
// used any more; and back, when one that is preferred could be used for the time of --failback. A
// unit that refuses the host is passed over for kPassOverFor. Pure: facts and time come in. Thread:
// its owner.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace splitnic::host {

class UnitChoice {
 public:
  static constexpr base::Duration kPreferFor = std::chrono::seconds(1);
  static constexpr base::Duration kPassOverFor = std::chrono::seconds(10);

  // `failback` none: never back, as long as the unit in use can be used.
  UnitChoice(std::size_t units, std::optional<base::Duration> failback)
      : failback_(failback), units_(units) {}

  void set_failback(std::optional<base::Duration> failback) { failback_ = failback; }

  // Whether the unit can be used, as often as is convenient: its link is up and it is heard.
  void set_usable(std::size_t unit, bool is_usable, base::Time now);
  // The unit in use refused the connection, or it never became usable for frames.
  void pass_over(base::Time now);
  // The user wants this one, until it cannot be used any more.
  void pin(std::size_t unit);
  // Returns the unit to use from now on; none until there is a first one. A host whose units are
  // all unusable stays with the last.
  std::optional<std::size_t> choose(base::Time now);
  // Returns the unit that would take over from the one in use now; none if there is no such unit.
  std::optional<std::size_t> successor(base::Time now) const;
  // Returns when choose() may return another one because of time alone; as of its last call.
  base::Time deadline() const { return deadline_; }

  std::optional<std::size_t> in_use() const { return in_use_; }
  bool is_usable(std::size_t unit) const { return units_[unit].usable_since.has_value(); }

 private:
  struct Unit {
    std::optional<base::Time> usable_since{};
    base::Time passed_over_until{};
  };

  bool may_use(std::size_t unit, base::Time now) const {
    return is_usable(unit) && now >= units_[unit].passed_over_until;
  }
  // Whether the next one that may be used is taken at once.
  bool is_in_need(base::Time now) const { return in_use_ && !may_use(*in_use_, now); }
  // Returns when this unit, which is usable, is taken in place of the one in use, or as the first.
  base::Time taken_at(std::size_t unit, base::Time now) const;

  std::optional<base::Duration> failback_;
  std::vector<Unit> units_;
  std::optional<std::size_t> in_use_;
  bool is_pinned_ = false;
  base::Time deadline_ = base::kNever;
};

}  // namespace splitnic::host
