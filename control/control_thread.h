// The control thread of a program: its event loop, SIGTERM and SIGINT, and the control socket. Each
// request becomes a command in the data thread's queue, so its handler runs in the thread that owns
// the data. A stop (by signal or by request_stop) is a flag and an eventfd that the data thread
// polls. A program that can read its settings again does so here, on SIGHUP and on the request
// reload, so that reading delays no frame.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "control/command_queue.h"
#include "control/metrics/metrics_server.h"
#include "control/socket/requests.h"

namespace splitnic::control {

// Runs on the control thread. The reply may be given later, from any thread.
using ReloadHandler = std::function<void(ReplyFunction)>;

class ControlThread {
 public:
  // The socket exists when this returns; clients and signals wait until start(). `handler` runs
  // inside data_queue.run(), and may keep its reply function and call it later. The queue outlives
  // this object. Without `on_reload` SIGHUP ends the program, and reload is a request like the
  // others.
  static base::Result<std::unique_ptr<ControlThread>> open(const std::string& socket_path,
                                                           CommandQueue& data_queue,
                                                           RequestHandler handler,
                                                           ReloadHandler on_reload = {});
  // Serves metrics, too. Before start(); once.
  base::Status serve_metrics(const MetricsAddress& address, SnapshotSource source);
  // Serves clients and signals in the calling thread for this time, or until a stop is requested.
  // Before start() only.
  void serve_for(base::Duration time);
  // Creates the thread, which calls `first` before anything else. Once.
  base::Status start(std::function<void()> first = [] {});
  // Closes the queue, removes the socket and joins the thread, if there is one.
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // Any thread.
  // Runs the function on the control thread, if that comes to it before it ends.
  void post(std::function<void()> function);
  bool stop_requested() const;
  int stop_fd() const;  // readable once a stop was requested; do not read it
  void request_stop();

 private:
  class Impl;
  explicit ControlThread(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace splitnic::control
