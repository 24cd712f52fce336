// A queue of the host: the fabric to the same queue of the I/O unit, a queue of the interface, and
// the Host between them. Threads: as for control::Worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/config_reload.h"
#include "control/daemon/follower_updates.h"
#include "control/daemon/hook_process.h"
#include "control/daemon/uplinks.h"
#include "control/daemon/worker.h"
#include "host_module/host.h"
#include "host_module/host_admin.h"
#include "host_module/host_options.h"

namespace splitnic::host {

class HostWorker final : public control::Worker {
 public:
  // `options` outlives this.
  HostWorker(const control::Process& process, const HostOptions& options, std::uint32_t queue);

  // To queue queue() of the I/O units. REQUIRES, of each call, that the endpoints have this queue.
  control::Uplinks& uplinks() { return uplinks_; }
  // Returns the number of bytes of one send call to any I/O unit with an address. REQUIRES that
  // the uplinks are open.
  std::uint32_t call_bytes() const;
  // Takes its queue of the interface, as one of `queues`. Queue 0 begins to connect; the others do
  // when they hear of its state. REQUIRES that the uplinks are open. `lists` is as in HostConfig.
  void start(std::unique_ptr<lan::FramePort> port, std::uint32_t queues,
             std::function<std::optional<lan::AddressLists>()> lists = {});
  // From now on these hear of each change of the state of this queue, which is queue 0. They
  // outlive its thread.
  void lead(const std::vector<HostWorker*>& followers);

  // For queue 0: they hear when the interface has its carrier for the first time.
  void set_hooks(std::unique_ptr<control::HookProcess> hooks) { hooks_ = std::move(hooks); }

  // In its data thread, after start(): options that were read again, as far as they have changed.
  // Queue 0 changes the interface first: if that fails, nothing has changed.
  base::Status change_interface(const HostOptions& read, const control::OptionChanges& changes);
  void change(const HostOptions& read, const control::OptionChanges& changes);
  // Calls `done` with what the I/O unit does not take of what change_interface() changed, once it
  // has replied.
  void when_settled(const control::OptionChanges& changes, Settling::Done done);

  control::Admin& admin() override { return admin_; }
  std::size_t ports() const override { return 1; }
  lan::FramePort& port(std::size_t) override { return *tap_; }
  bool wants_input(std::size_t) override { return host_->wants_tap_input(); }
  bool wants_output(std::size_t) override { return host_->wants_tap_output(); }
  void on_port_event(std::size_t, base::Time now) override { host_->on_tap_event(now); }
  void set_readable(std::size_t, bool is_readable) override { is_readable_ = is_readable; }
  bool step(base::Time now) override;
  base::Time deadline() const override {
    return std::min({host_->deadline(), updates_.deadline(), uplinks_.deadline()});
  }
  std::uint64_t bytes_processed() const override { return host_->bytes_processed(); }
  std::string status() const override;
  void begin_stop() override { host_->begin_stop(); }
  bool is_drained() const override { return host_->is_drained(); }
  void stop(base::Time now) override { host_->stop(now); }

 private:
  // The way to an I/O unit.
  struct Way {
    fabric::Port* port = nullptr;  // null: its uplink is not open
    fabric::PeerAddress address{};
    fabric::PeerAddress neighbour{};  // with keys: whose key it is, of the I/O unit or a switch
    // Through a switch: of any node behind it.
    std::function<fabric::PeerAddress(const UnitOptions& unit)> address_of{};
    const fabric::Link* hop = nullptr;  // the same: to that switch
    std::size_t carrier = 0;            // in the order of carriers_
  };

  control::Uplinks uplinks_to_units();
  base::Result<std::size_t> open_way(std::size_t unit, const control::Endpoint& at,
                                     bool is_awaited);
  base::Result<Way> connect_to_unit(std::size_t unit, const control::Endpoint& unit_at,
                                    const control::CarrierConfig& carrying);
  base::Result<Way> attach_to_switch(std::size_t unit, const control::Endpoint& at,
                                     const control::CarrierConfig& carrying);
  // Of the neighbour on the way to it; none without keys.
  std::span<const fabric::session::PublicKey> key_of(std::size_t unit) const;
  base::Status check_route(const control::Carrier& carrier, const UnitOptions& unit) const;
  std::optional<lan::MacAddress> mac_of(const MacChoice& choice) const;
  HostConfig host_config(std::uint32_t queues) const;
  void warn_of_silence(base::Time now) const;
  void warn_of_silence(std::size_t unit, const fabric::Link& link) const;
  // Returns what to look at if nothing is heard from the I/O unit.
  std::string advice(std::size_t unit) const;
  void connect(std::size_t unit, base::Time now);
  void notify_followers(base::Time now);
  void visit_below(const base::CounterVisitor& visitor) const;
  void follow(const QueueZero& state, const control::Uplinks::Endpoints& at);
  void follow_names(base::Time now);
  void report_carrier();

  const HostOptions& options_;
  const lan::MacAddress stable_mac_;  // what it is made of cannot be read once the program serves
  HostAdmin admin_;
  std::vector<Way> ways_;  // as options_.units
  control::Uplinks uplinks_;
  std::unique_ptr<lan::WatchedPort> tap_;
  std::unique_ptr<Host> host_;
  bool is_readable_ = false;
  base::Time silent_at_ = base::kNever;
  control::FollowerUpdates updates_;
  QueueZero notified_;                           // to the followers
  std::unique_ptr<control::HookProcess> hooks_;  // null: none is given
  bool has_reported_carrier_ = false;            // to the hooks
};

}  // namespace splitnic::host
