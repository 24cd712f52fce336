// The life of one attached host: since when it is attached, its HostState (host_state.h), and since
// when its link is down. A host that is away for kAwayMax fails. Pure. Thread: the data thread.
#pragma once

#include <chrono>

#include "base/check.h"
#include "base/clock.h"
#include "iou_module/hosts/host_state.h"

namespace splitnic::iou {

class HostLife {
 public:
  // A host whose link is down for longer is removed, which frees its addresses.
  static constexpr base::Duration kAwayMax = std::chrono::seconds(60);

  explicit HostLife(base::Time now) : attached_at_(now) {}

  // Returns when the object was made.
  base::Time attached_at() const { return attached_at_; }
  HostState state() const { return state_; }
  bool has_ended() const { return state_ == HostState::kFailed || state_ == HostState::kClosed; }

  // REQUIRES HostState::kAttached.
  void begin_close() { enter(HostState::kClosing); }
  // No effect on a host that has ended.
  void fail() {
    if (!has_ended()) enter(HostState::kFailed);
  }
  // Returns true the first time. REQUIRES has_ended().
  bool close() {
    if (state_ == HostState::kClosed) return false;
    enter(HostState::kClosed);
    return true;
  }
  // Observes the link. Returns true if it has been down for kAwayMax: then the host has failed.
  bool expire(bool is_link_up, base::Time now) {
    if (is_link_up) {
      away_since_ = base::kNever;
      return false;
    }
    if (away_since_ == base::kNever) away_since_ = now;
    if (now - away_since_ < kAwayMax || has_ended()) return false;
    fail();
    return true;
  }
  // Returns when expire() has something to do if the link stays down; kNever while it is up.
  base::Time deadline() const {
    return away_since_ == base::kNever ? base::kNever : away_since_ + kAwayMax;
  }

 private:
  void enter(HostState next) {
    CHECK(is_host_edge(state_, next));
    state_ = next;
  }

  const base::Time attached_at_;
  HostState state_ = HostState::kAttached;
  base::Time away_since_ = base::kNever;  // since when the link is down
};

}  // namespace splitnic::iou
