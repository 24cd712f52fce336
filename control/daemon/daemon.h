// The process of splitnic-host, splitnic-iou, splitnic-switch and `splitnic raw`: the control
// thread, which owns signals and the control socket, and the workers, one per queue. The main
// thread opens all of them and then is the data thread of queue 0; each of the others gets a
// thread. When everything is open the process gives up its privileges (control/sandbox). A program
// derives from it and owns its workers.
// Thread: the main thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "control/config/values.h"
#include "control/control_thread.h"
#include "control/daemon/common_options.h"
#include "control/daemon/name_lookup.h"
#include "control/daemon/processors.h"
#include "control/daemon/uplinks.h"
#include "control/daemon/worker.h"
#include "control/sandbox/sandbox.h"

namespace splitnic::control {

class Daemon {
 public:
  virtual ~Daemon() = default;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Runs until a stop is requested and returns the exit status. The control socket exists before
  // open() is called. An error of a worker stops all of them, and is one line of the log.
  int run();

 protected:
  // `common` outlives this.
  Daemon(std::string program, const CommonOptions& common);

  // One before open() is called, and then one per queue, in their order.
  virtual std::size_t workers() const = 0;
  virtual Worker& worker(std::size_t queue) = 0;
  // Opens the frame ports and the fabric of as many queues as there can be, up to queues_wanted().
  virtual base::Status open() = 0;
  // The services of the program, for the line of the log when it is up; "": there is no such line.
  virtual std::string summary() const { return {}; }
  // The rights that the program needs from then on; those of the control socket are added.
  virtual sandbox::Needs needs() const { return {}; }

  // Returns the handler of SIGHUP and `splitnic reload`; empty if the program has nothing to
  // reload. It is called once the program is up: before, both are refused.
  virtual ReloadHandler reload_handler() { return {}; }

  // Calls `attempt`, which returns a base::Result, once per second as long as its error passes
  // without a change of the options (passes_later()); the first is logged. Meanwhile clients and
  // signals are served, and the service manager hears that the program is up. Returns the last
  // result: an error if it is another one, or if a stop was requested.
  template <class Attempt>
  auto when_possible(Attempt attempt) {
    auto result = attempt();
    for (bool is_first = true; !result && passes_later(result.error()); is_first = false) {
      if (!wait_to_retry(result.error(), is_first)) break;
      result = attempt();
      if (result) base::log_info("what was missing is there: continuing");
    }
    return result;
  }
  // Returns true for what heals: an interface that is missing or down, no route, no address found
  // for a name, an address that no interface has. [B-05] [B-06]
  static bool passes_later(const base::Error& error);

  // Opens the uplinks of queue 0 to all peers, and after kAttemptsForAll attempts of
  // when_possible() to one, and logs which are missing then. One lookup for each peer; sets in `at`
  // where each of them is, since all queues use one address of a name. Clients and signals are
  // served while names are looked up. An error also if a stop was requested.
  using Lookups = std::vector<std::unique_ptr<NameLookup>>;
  base::Status open_uplinks(Uplinks& uplinks, const Lookups& lookups, Uplinks::Endpoints& at);
  // Looks up where the peers are that are not reached. `at` has an entry for each lookup. An error:
  // the first, of those that have no address, or a stop was requested.
  base::Status resolve_missing(const Lookups& lookups, Uplinks::Endpoints& at,
                               const std::function<bool(std::size_t)>& is_reached);
  // Once start() has begun. From any thread.
  void run_on_control_thread(std::function<void()> function) {
    control_->post(std::move(function));
  }
  // Whether the program gives up privileges.
  bool has_sandbox() const { return sandbox::kIsBuilt && common_.is_sandboxed; }
  // Begins the process that looks up this name. REQUIRES that no key has been read.
  base::Result<std::unique_ptr<NameLookup>> open_lookup(const Endpoint& endpoint) const;

  const Process& process() const { return process_; }
  std::uint32_t queues_wanted() const { return queues_to_open(common_, allowed_); }
  // Logs that the program continues with `queues` queues, because the next one has this error.
  static void report_fewer(std::size_t queues, const base::Error& why);
  // Returns the number of queues, up to `queues`, that have an endpoint. If these are fewer, that
  // is logged.
  static std::uint32_t queues_at(const Endpoint& endpoint, std::uint32_t queues);

 private:
  static constexpr int kAttemptsForAll = 10;

  base::Status start();
  base::Result<Endpoint> resolved(NameLookup& lookup);
  void announce_ready();
  bool wait_to_retry(const base::Error& error, bool is_first);
  bool serve_until(const std::function<bool()>& is_over);
  base::Status serve_metrics();
  ReloadHandler announced_reload_handler();
  sandbox::Needs all_needs() const;
  base::Status give_up_privileges();
  base::Status filter_calls() const;
  void run_workers();
  void run_worker(std::size_t queue, bool never_sleeps, Heartbeats& heartbeats);
  void fail(const base::Error& error);

  const CommonOptions& common_;
  const Process process_;
  const Processors allowed_;
  std::unique_ptr<ControlThread> control_;
  std::atomic<bool> has_failed_{false};
  std::atomic<bool> is_announced_{false};  // the service manager has heard that the program is up
  std::atomic<bool> is_up_{false};
};

}  // namespace splitnic::control
