// Keeps idle processors awake while frames come: a request to the power management of Linux for
// wake-ups without latency (PM QoS, /dev/cpu_dma_latency), which holds for the whole machine. A
// halted processor of a virtual machine takes 25 to 50 us to wake up, and the thread that wakes it
// some more; one that polls in the idle loop of the kernel takes neither, and is free for any
// thread. The request ends with the descriptor. Thread: opened in any thread, the rest is for the
// data thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::control {

struct WakeLatencyOptions {
  base::Duration held_for{};  // behind the last frame; 0: nothing is requested
  std::string file = "/dev/cpu_dma_latency";

  bool is_given() const { return held_for > base::Duration{}; }
};

class WakeLatency {
 public:
  // An error: the file cannot be opened.
  static base::Result<WakeLatency> open(const WakeLatencyOptions& options);

  // Once per iteration, with what Module::bytes_processed() returns.
  void note(std::uint64_t bytes_processed, base::Time now) {
    if (!file_.valid()) return;
    if (bytes_processed != bytes_processed_) {
      bytes_processed_ = bytes_processed;
      held_until_ = now + held_for_;
      if (!is_held_) hold(true);
    } else if (is_held_ && now >= held_until_) {
      hold(false);
    }
  }
  // Returns when note() ends the request; kNever if there is none.
  base::Time deadline() const { return is_held_ ? held_until_ : base::kNever; }

 private:
  WakeLatency(base::UniqueFd file, base::Duration held_for)
      : file_(std::move(file)), held_for_(held_for) {}

  void hold(bool is_held);

  base::UniqueFd file_;  // none once the kernel has refused a request, which is logged
  base::Duration held_for_;
  bool is_held_ = false;
  base::Time held_until_{};
  std::uint64_t bytes_processed_ = 0;
};

}  // namespace splitnic::control
