// Resolves peer names again while a peer is silent. The peer is then tried at the address that its
// name has now. A peer is an I/O unit or a switch, and its number is the owner's. Thread: the data
// thread of queue 0.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "control/daemon/address_choice.h"
#include "control/daemon/name_lookup.h"

namespace splitnic::control {

class FollowedNames {
 public:
  struct Move {
    std::size_t peer;
    Endpoint to;
  };

  // The addresses of the peer of this number are those of `lookup`, and `in_use` is tried now; an
  // empty endpoint: none yet.
  void add(std::size_t peer, std::unique_ptr<NameLookup> lookup, const Endpoint& in_use,
           base::Time now);
  bool empty() const { return names_.empty(); }

  // Returns where to look for a peer from now on, if that is another address; call it until it
  // returns nothing. `is_heard` of the number of a peer: it is heard at the address that is tried.
  std::optional<Move> next(const std::function<bool(std::size_t)>& is_heard, base::Time now);
  // The last move of this peer failed: an address is tried again.
  void on_failed(std::size_t peer);
  base::Time deadline() const { return deadline_; }

 private:
  struct Name {
    std::size_t peer;
    std::unique_ptr<NameLookup> lookup;
    AddressChoice choice;
  };
  std::optional<Move> follow(Name& name, bool is_heard, base::Time now);

  std::vector<Name> names_;
  base::Time deadline_ = base::kNever;
};

}  // namespace splitnic::control
