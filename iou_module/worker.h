// A queue of the I/O unit: endpoints at which the same queue of each host attaches, a queue of each
// LAN NIC, and the Iou between them. Threads: as for control::Worker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/followed_names.h"
#include "control/daemon/worker.h"
#include "iou_module/admin.h"
#include "iou_module/admission.h"
#include "iou_module/allow_underlay.h"
#include "iou_module/iou.h"
#include "iou_module/options.h"
#include "iou_module/queue_set.h"

namespace splitnic::iou {

class IouWorker final : public control::Worker {
 public:
  // `options` outlives this.
  IouWorker(const control::Process& process, const IouOptions& options, std::uint32_t queue);

  // With a hosts file: the hosts that may attach. Before listen().
  void set_known_hosts(std::shared_ptr<const KnownHosts> known) {
    admission_.set_known(std::move(known));
  }
  // The same from now on, in its data thread.
  void replace_known_hosts(std::shared_ptr<const KnownHosts> known) {
    admission_.replace(std::move(known), clock_.now());
  }
  // Attaches to the switches of --attach that it is not attached to yet. `at` is where each of them
  // is, as options.switches[i].at with an address in place of a name, or none. An error: there is
  // no way to the first of those; with `needs_all` false, only if there is a way to none, and the
  // others at udp:// are awaited.
  using Endpoints = std::vector<std::optional<control::Endpoint>>;
  base::Status attach_to_switches(const Endpoints& at, bool needs_all);
  bool is_attached_to(std::size_t number) const {
    return number < ways_.size() && ways_[number].hop != nullptr;
  }
  // The switch has no address yet: it is looked for once follow_names() has begun.
  bool is_awaited(std::size_t number) const { return is_attached_to(number) && !at_[number]; }
  // Listens at queue queue() of every --listen, and lets the known hosts attach. An error: at one
  // of them it cannot. After attach_to_switches().
  base::Status listen();
  // Takes its queue of each LAN NIC and serves hosts, as one of `queues`; `all` has as many and
  // outlives this. REQUIRES that listen() succeeded.
  void start(std::vector<std::unique_ptr<lan::FramePort>> lans, std::uint32_t queues,
             QueueSet& all);

  // For queue 0, after start(): looks for switches that are silent where their names lead now, and
  // leads `followers`, the workers of the other queues, there. `lookups` are as options.switches.
  void follow_names(std::vector<std::unique_ptr<control::NameLookup>> lookups,
                    std::vector<IouWorker*> followers);

  control::Admin& admin() override { return admin_; }
  std::size_t ports() const override { return unit_->nics().size(); }
  lan::FramePort& port(std::size_t index) override { return nic(index).port(); }
  bool wants_input(std::size_t index) override { return nic(index).wants_input(); }
  bool wants_output(std::size_t index) override { return nic(index).wants_output(); }
  void on_port_event(std::size_t index, base::Time) override { nic(index).on_event(); }
  // The hosts of the other NICs stay. A NIC that is back needs another start, since this process
  // has given up the right to open it: under a service manager the program ends for that. [B-05]
  base::Status on_port_gone(std::size_t index) override;
  void set_readable(std::size_t index, bool is_readable) override {
    nic(index).set_readable(is_readable);
  }
  bool step(base::Time now) override;
  base::Time deadline() const override {
    return std::min({unit_->deadline(), names_.deadline(), lead_again_at_});
  }
  std::uint64_t bytes_processed() const override { return unit_->bytes_processed(); }
  void begin_stop() override { unit_->begin_stop(); }
  bool is_drained() const override { return unit_->is_drained(); }
  void stop(base::Time now) override { unit_->stop(now); }

 private:
  // The way to a switch.
  struct Way {
    const fabric::Link* hop = nullptr;  // null: it could not be opened
    std::size_t carrier = 0;            // in the order of carriers_
  };

  LanNic& nic(std::size_t index) { return *unit_->nics()[index]; }
  base::Result<Way> attach_to(std::size_t number, const control::Endpoint& at);
  void await_others();
  void follow_names(base::Time now);
  void lead_followers(base::Time now);
  void follow(const Endpoints& at);
  base::Status lead_way(std::size_t number, const control::Endpoint& to);
  base::Status listen_at(const control::Endpoint& endpoint);
  IouConfig unit_config(std::uint32_t queues) const;
  void visit_carriers(const base::CounterVisitor& visitor) const;

  const IouOptions& options_;
  Admission admission_;
  Admin admin_;
  std::vector<Way> ways_;  // as options_.switches
  Endpoints at_;           // where they lead now
  control::FollowedNames names_;
  std::uint64_t addresses_ = 0;  // that a switch was looked for at, after the first
  std::vector<IouWorker*> followers_;
  base::Time lead_again_at_ = base::kNever;  // a follower has not heard of a move
  std::vector<std::unique_ptr<AllowUnderlay>> gates_;
  std::vector<std::unique_ptr<lan::FramePort>> lans_;
  std::unique_ptr<Iou> unit_;
  enum class Gone : std::uint8_t { kNo, kReported, kBackReported };
  std::vector<Gone> gone_;  // by NIC
};

}  // namespace splitnic::iou
