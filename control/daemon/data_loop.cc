#include "control/daemon/data_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/memory_reserve.h"
#include "control/sd_notify.h"

namespace splitnic::control {

DataLoop::DataLoop(Module& module, fabric::Adapter& adapter, const Carriers& carriers,
                   const ControlThread& control, CommandQueue& commands, base::Clock& clock,
                   bool never_sleeps)
    : module_(module),
      adapter_(adapter),
      control_(control),
      commands_(commands),
      clock_(clock),
      waiting_(never_sleeps),
      carriers_(carriers.all().size()) {
  for (const Carrier& carrier : carriers.all()) waiting_.add(*carrier.underlay);
  base::Poller& poller = waiting_.poller();
  stop_fd_ = poller.add(control.stop_fd());
  poller.add(commands.fd());  // ends a sleep
  datagram_fd_ = poller.add(module.datagram_fd(), true);
  for (std::size_t i = 0; i < module.ports(); ++i) {
    ports_.emplace_back(poller, module.port(i));
  }
}

base::Status DataLoop::run() {
  if (alive_interval_) alive_at_ = clock_.now();
  for (base::Time now = clock_.now(); now < stop_at_; now = clock_.now()) {
    watch_stop(now);
    report_if_due(now);
    if (stop_at_ != base::kNever && module_.is_drained()) return {};
    wait(now);
    now = clock_.now();
    commands_.run();  // in each iteration: a busy loop rarely polls
    if (auto updated = update_ports(now); !updated) return updated;
    if (is_blocked_ && waiting_.has_room()) adapter_.on_writable(now);
    made_progress_ = module_.step(now);
    if (wake_latency_ != nullptr) wake_latency_->note(module_.bytes_processed(), now);
  }
  return {};
}

void DataLoop::watch_stop(base::Time now) {
  if (stop_at_ != base::kNever || !control_.stop_requested()) return;
  stop_at_ = now + kStopMax;
  waiting_.poller().want(stop_fd_, false, false);  // it stays readable
  module_.begin_stop();
}

void DataLoop::report_if_due(base::Time now) {
  if (now >= alive_at_) {
    alive_at_ = now + *alive_interval_;
    if (heartbeats_->beat(number_)) notify_alive();
  }
  if (now < status_at_) return;
  status_at_ = now + kStatusInterval;
  base::restore_memory_reserve();
  if (std::string status = module_.status(); status != status_) {
    notify_status(status);
    status_ = std::move(status);
  }
}

void DataLoop::wait(base::Time now) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    ports_[i].want(module_.wants_input(i), module_.wants_output(i));
  }
  waiting_.poller().want(datagram_fd_, module_.wants_datagrams(), false);
  for (std::size_t i = 0; i < carriers_; ++i) waiting_.set_read(i, module_.reads_carrier(i));
  is_blocked_ = adapter_.wants_write();
  const bool has_event = std::ranges::any_of(ports_, &PortWatch::has_read_event);
  const base::Time awake_until =
      wake_latency_ != nullptr ? wake_latency_->deadline() : base::kNever;
  waiting_.wait(
      now,
      {.made_progress = made_progress_ || has_event,
       .bytes_processed = module_.bytes_processed(),
       .wants_write = is_blocked_,
       .deadline = std::min({stop_at_, alive_at_, status_at_, awake_until, module_.deadline()})});
}

base::Status DataLoop::update_ports(base::Time now) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].take_event()) module_.on_port_event(i, now);
    const lan::FramePort& port = module_.port(i);
    if (port.is_gone()) {
      ports_[i].forget_frames();
      if (auto continues = module_.on_port_gone(i); !continues) return continues;
    } else {
      ports_[i].remember_frames();
    }
    module_.set_readable(i, ports_[i].is_readable());
  }
  return {};
}

}  // namespace splitnic::control
