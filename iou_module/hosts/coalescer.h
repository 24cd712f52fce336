// Delays LAN frames for a host, so that one wake-up delivers several. The Coalescing of the host
// sets how long and for how many frames or bytes. Once it lets frames pass, it does so until none
// waits. Plain state. docs/nic_service.md#coalescing Thread: the data thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "messaging/cfgutil/nic_state.h"

namespace splitnic::iou {

class Coalescer {
 public:
  // Takes effect at the next frame.
  void set(const messaging::Coalescing& settings) {
    settings_ = settings;
    release();
  }
  bool is_on() const { return settings_.microseconds > 0; }

  // Returns whether what waits for the host must wait longer. REQUIRES is_on().
  bool holds(std::size_t frames, std::size_t bytes, base::Time now) {
    if (frames == 0) {
      if (is_releasing_) release();
      return false;
    }
    if (is_releasing_) {
      last_at_ = now;
      return false;
    }
    if (due_at_ == base::kNever) due_at_ = is_alone(now) ? now : now + wait();
    const bool is_full = (settings_.frames > 0 && frames >= settings_.frames) ||
                         (settings_.bytes > 0 && bytes >= settings_.bytes);
    if (!is_full && now < due_at_) return true;
    is_releasing_ = true;
    due_at_ = base::kNever;
    last_at_ = now;
    return false;
  }
  // Returns when holds() lets frames pass at the latest; kNever if none is held.
  base::Time deadline() const { return due_at_; }

 private:
  base::Duration wait() const { return std::chrono::microseconds(settings_.microseconds); }
  // Adaptive: nothing was delivered for as long as it would wait, so no other frame is to be
  // expected either.
  bool is_alone(base::Time now) const { return settings_.is_adaptive && now - last_at_ >= wait(); }
  void release() {
    is_releasing_ = false;
    due_at_ = base::kNever;
  }

  messaging::Coalescing settings_{};
  base::Time due_at_ = base::kNever;
  base::Time last_at_{};
  bool is_releasing_ = false;
};

}  // namespace splitnic::iou
