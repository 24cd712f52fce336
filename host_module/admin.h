// What the control socket of the host can ask: show, stats, set, ping. Runs on the data thread.
#pragma once

#include "base/clock.h"
#include "control/admin.h"
#include "control/snapshot.h"
#include "host_module/host.h"
#include "host_module/options.h"

namespace splitnic::host {

class Admin {
 public:
  Admin(const HostOptions& options, base::Clock& clock) : options_(options), clock_(clock) {}
  // Before it, requests are answered as "connecting".
  void attach(Host& host, lan::FramePort& tap) {
    host_ = &host;
    tap_ = &tap;
  }
  void handle(const control::Request& request, control::ReplyFunction reply);

 private:
  control::Snapshot snapshot() const;
  control::Reply set(const std::string& what, const std::string& value);
  void ping(std::uint32_t count, control::ReplyFunction reply);

  const HostOptions& options_;
  base::Clock& clock_;
  Host* host_ = nullptr;
  lan::FramePort* tap_ = nullptr;
};

}  // namespace splitnic::host
