// The process of splitnic-host and splitnic-iou: clock, control socket, carriers, adapter and data
// loop. A program derives from it, opens its frame ports and fabric in open(), and is the module
// that the loop drives. Two threads: the data thread, which calls run(), and the control thread,
// which owns signals and the control socket and reaches the data thread by `commands_`.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "control/command_queue.h"
#include "control/control_thread.h"
#include "control/daemon/admin.h"
#include "control/daemon/carriers.h"
#include "control/daemon/common_options.h"
#include "control/daemon/module.h"
#include "fabric_emul/verbs/adapter.h"

namespace splitnic::control {

class Daemon : public Module {
 public:
  // Runs until a stop is requested and returns the exit status. The control socket exists before
  // open() is called. An error is one line of the log.
  int run();

 protected:
  // `common` outlives this. `limits` are those of the adapter.
  Daemon(std::string program, const CommonOptions& common, const fabric::AdapterLimits& limits);

  virtual base::Status open() = 0;
  virtual Admin& admin() = 0;

  // Gives the adapter a port over a carrier. The port is the common one with what `config` adds
  // about listening; `role` distinguishes the ports of one node.
  base::Result<fabric::Port*> add_port(fabric::Underlay& underlay, fabric::PortConfig config,
                                       const std::string& role, bool is_shm);

  base::SystemClock clock_;
  base::OsRandom random_;
  const CommonOptions& common_;
  Carriers carriers_;
  fabric::Adapter adapter_;

 private:
  base::Status start();

  const std::string program_;
  const std::uint64_t instance_;
  CommandQueue commands_;
  std::unique_ptr<ControlThread> control_;
};

}  // namespace splitnic::control
