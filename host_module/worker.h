// A queue of the host: the fabric to the same queue of the I/O unit, a queue of the interface, and
// the Host between them. Threads: as for control::Worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "control/daemon/worker.h"
#include "host_module/admin.h"
#include "host_module/host.h"
#include "host_module/options.h"

namespace splitnic::host {

class HostWorker final : public control::Worker {
 public:
  // `options` outlives this.
  HostWorker(const control::Process& process, const HostOptions& options, std::uint32_t queue);

  // Opens the carrier to queue queue() of the I/O unit. Returns the number of bytes of one send
  // call. REQUIRES that the endpoint has this queue.
  base::Result<std::uint32_t> open_fabric();
  // Takes its queue of the interface, as one of `queues`. Queue 0 begins to connect; the others do
  // when they hear of its state. REQUIRES that open_fabric() succeeded.
  void start(std::unique_ptr<lan::FramePort> port, std::uint32_t queues);
  // From now on these hear of each change of the state of this queue, which is queue 0. They
  // outlive its thread.
  void lead(std::vector<HostWorker*> followers) { followers_ = std::move(followers); }

  control::Admin& admin() override { return admin_; }
  std::size_t ports() const override { return 1; }
  lan::FramePort& port(std::size_t) override { return *tap_; }
  bool wants_input(std::size_t) override { return host_->wants_tap_input(); }
  bool wants_output(std::size_t) override { return host_->wants_tap_output(); }
  void on_port_event(std::size_t, base::Time now) override { host_->on_tap_event(now); }
  void set_readable(std::size_t, bool is_readable) override { is_readable_ = is_readable; }
  bool step(base::Time now) override;
  base::Time deadline() const override { return std::min(host_->deadline(), notify_again_at_); }
  std::uint64_t bytes_processed() const override { return host_->bytes_processed(); }
  void begin_stop() override { host_->begin_stop(); }
  bool is_drained() const override { return host_->is_drained(); }
  void stop(base::Time now) override { host_->stop(now); }

 private:
  base::Result<std::uint32_t> connect_to_unit(const control::Endpoint& unit,
                                              const control::CarrierConfig& carrying);
  base::Result<std::uint32_t> attach_to_switch(const control::CarrierConfig& carrying);
  base::Status check_route(const control::Carrier& carrier) const;
  HostConfig host_config(std::uint32_t queues) const;
  void warn_of_silence() const;
  void connect(base::Time now);
  void notify_followers(base::Time now);
  void follow(const QueueZero& state);

  const HostOptions& options_;
  Admin admin_;
  fabric::Port* fabric_ = nullptr;
  fabric::PeerAddress unit_address_;
  fabric::PeerAddress session_address_;  // with keys: of the neighbour, the I/O unit or a switch
  const fabric::Link* link_ = nullptr;   // to the I/O unit
  std::unique_ptr<lan::FramePort> tap_;
  std::unique_ptr<Host> host_;
  bool is_readable_ = false;
  base::Time silent_at_ = base::kNever;
  std::vector<HostWorker*> followers_;
  QueueZero notified_;  // to the followers
  base::Time notify_again_at_ = base::kNever;
};

}  // namespace splitnic::host
