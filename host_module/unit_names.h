// The names by which a host knows its I/O units, followed while it runs: a unit that is silent is
// looked for where its name leads now. One name belongs to one unit, or to the switch on its way.
// Thread: the data thread of queue 0.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "control/daemon/address_choice.h"
#include "control/daemon/name_lookup.h"

namespace splitnic::host {

class UnitNames {
 public:
  struct Move {
    std::size_t unit;
    control::Endpoint to;
  };

  // The unit of this number is looked for by `lookup`, and at `in_use` now. REQUIRES an endpoint
  // with a name.
  void add(std::size_t unit, std::unique_ptr<control::NameLookup> lookup,
           const control::Endpoint& in_use, base::Time now);
  bool empty() const { return names_.empty(); }

  // Returns where to look for a unit from now on, if that is another address; call it until it
  // returns nothing. `is_heard` of the number of a unit: it is heard where it is looked for.
  std::optional<Move> next(const std::function<bool(std::size_t)>& is_heard, base::Time now);
  // The last move of this unit failed: an address is tried again.
  void on_failed(std::size_t unit);
  base::Time deadline() const { return deadline_; }

 private:
  struct Name {
    std::size_t unit;
    std::unique_ptr<control::NameLookup> lookup;
    control::AddressChoice choice;
  };
  std::optional<Move> follow(Name& name, bool is_heard, base::Time now);

  std::vector<Name> names_;
  base::Time deadline_ = base::kNever;
};

}  // namespace splitnic::host
