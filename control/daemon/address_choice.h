// Chooses the address to try for a peer name, and when to resolve it again. As long as the peer is
// heard nothing changes. When it is silent the name is looked up at once and again every
// kLookUpEvery (after the first minute kLookUpLater), an address that the name has no more is left
// at once, and of several each is tried for kTryFor, the next for twice as long, up to kTryMax. One
// that appears meanwhile is next, and the one before it gets no more than kTryFor. Pure: facts and
// time come in. Thread: its owner.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "control/config/values.h"

namespace splitnic::control {

class AddressChoice {
 public:
  static constexpr base::Duration kLookUpEvery = std::chrono::milliseconds(250);
  static constexpr base::Duration kLookUpLater = std::chrono::seconds(5);
  static constexpr base::Duration kOftenFor = std::chrono::minutes(1);
  static constexpr base::Duration kTryFor = std::chrono::seconds(1);
  // More than the longest wait between two attempts of a handshake: docs/protocol/session.md.
  static constexpr base::Duration kTryMax = std::chrono::seconds(4);

  // `first` is in use.
  AddressChoice(Endpoint first, base::Time now) : in_use_(std::move(first)), tried_since_(now) {}

  // Whether the peer is heard at the address in use. Returns true if the name is to be looked up
  // now; then on_found() follows, in any time.
  bool is_lookup_due(bool is_heard, base::Time now);
  // The addresses that the name has; none: the lookup failed. Returns the one to use from now on,
  // if it is another one.
  std::optional<Endpoint> on_found(const std::vector<Endpoint>& found, base::Time now);
  // The address that on_found() returned cannot be used now: the next result selects another one.
  void on_failed() { must_move_ = true; }
  // Returns when is_lookup_due() may return true because of time alone.
  base::Time deadline() const;

  const Endpoint& in_use() const { return in_use_; }
  bool is_looking_up() const { return is_looking_up_; }

 private:
  Endpoint in_use_;
  base::Time tried_since_;
  std::optional<base::Time> silent_since_{};
  std::vector<Endpoint> known_{};  // of those found last, all but the ones that have appeared since
  base::Time look_up_at_{};
  base::Duration try_for_ = kTryFor;
  bool is_looking_up_ = false;
  bool must_move_ = false;
};

}  // namespace splitnic::control
