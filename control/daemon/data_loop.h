// The loop of the data thread, the same for all programs: wait, commands, port events, one step.
// Thread: the data thread.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "control/command_queue.h"
#include "control/control_thread.h"
#include "control/daemon/carriers.h"
#include "control/daemon/heartbeats.h"
#include "control/daemon/module.h"
#include "control/daemon/port_watch.h"
#include "control/daemon/wake_latency.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::control {

class DataLoop {
 public:
  // All outlive this; the adapter has its ports already.
  DataLoop(Module& module, fabric::Adapter& adapter, const Carriers& carriers,
           const ControlThread& control, CommandQueue& commands, base::Clock& clock,
           bool never_sleeps);

  // Before run(): it hears of each iteration. `latency` outlives this.
  void keep_processors_awake(WakeLatency& latency) { wake_latency_ = &latency; }
  // From run() on, thread `number` of these reports this often, and the service manager hears when
  // all have. `all` outlives this. [L-14]
  void report_alive(base::Duration interval, Heartbeats& all, std::uint32_t number) {
    alive_interval_ = interval;
    heartbeats_ = &all;
    number_ = number;
  }
  // The same: it hears of each change of status(), within kStatusInterval.
  void report_status() { status_at_ = base::Time{}; }
  static constexpr base::Duration kStatusInterval = std::chrono::seconds(1);

  // Returns when a stop was requested and everything in flight has arrived, or after
  // kStopMax. An error: an interface was deleted, without which the module does not continue.
  base::Status run();

 private:
  void watch_stop(base::Time now);
  void report_if_due(base::Time now);
  void wait(base::Time now);
  base::Status update_ports(base::Time now);

  Module& module_;
  fabric::Adapter& adapter_;
  const ControlThread& control_;
  CommandQueue& commands_;
  base::Clock& clock_;
  fabric::IdleWait waiting_;
  const std::size_t carriers_;
  std::size_t stop_fd_;
  std::size_t datagram_fd_;
  std::vector<PortWatch> ports_;
  base::Time stop_at_ = base::kNever;
  std::optional<base::Duration> alive_interval_;
  Heartbeats* heartbeats_ = nullptr;
  std::uint32_t number_ = 0;             // of this thread there
  base::Time alive_at_ = base::kNever;   // the next report
  base::Time status_at_ = base::kNever;  // the next look
  std::string status_;                   // reported last
  bool is_blocked_ = false;              // an underlay did not take all when the wait began
  bool made_progress_ = true;
  WakeLatency* wake_latency_ = nullptr;  // none: nothing is requested
};

}  // namespace splitnic::control
