// Serves the control socket of the host. `set` changes the interface, as `ip link` would; from
// there the change reaches the LAN NIC. Thread: the data thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "control/daemon/admin.h"
#include "host_module/host.h"
#include "host_module/host_options.h"
#include "lan_bridge/ports/watched_port.h"

namespace splitnic::host {

class HostAdmin final : public control::Admin {
 public:
  HostAdmin(const HostOptions& options, base::Clock& clock, VisitCounters visit_carriers)
      : control::Admin(clock, std::move(visit_carriers)), options_(options) {}
  // Returns what to look at if nothing is heard from an I/O unit.
  using Advice = std::function<std::string(std::size_t unit)>;
  // Before this call the state is "connecting" and nothing can be set.
  void attach(Host& host, lan::WatchedPort& tap, Advice advice) {
    host_ = &host;
    tap_ = &tap;
    advice_ = std::move(advice);
  }

 private:
  control::Snapshot snapshot(control::SnapshotParts parts) const override;
  control::Reply set(const std::string& what, const std::string& value) override;
  void when_settled(const control::Request& request, const control::ReplyFunction& reply) override;
  void nic(const control::Request& request, control::ReplyFunction reply) override;
  base::Result<messaging::Connection*> connection_to_ping() override;
  base::Status begin_capture(lan::FrameCapture& capture, const std::string& interface) override;
  // The name of the interface, or the text of --tap without one.
  const std::string& interface() const {
    return options_.is_tap() ? options_.tap.interface : options_.tap.text;
  }

  void add_host(control::Snapshot& s) const;
  void add_unit(control::Snapshot& s, control::PeerInfo& peer, std::size_t unit,
                control::SnapshotParts parts) const;
  control::Details nic_details() const;
  void add_history(control::PeerInfo& peer, const fabric::Link& link, std::size_t unit) const;
  std::string state() const;
  std::string state_of(std::size_t unit) const;
  control::Reply move(const std::string& typed);
  base::Error other_interface(const std::string& name) const;

  const HostOptions& options_;
  Host* host_ = nullptr;
  lan::WatchedPort* tap_ = nullptr;
  Advice advice_;
};

}  // namespace splitnic::host
