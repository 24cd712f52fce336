// A queue of the I/O unit: endpoints at which the same queue of each host attaches, a queue of each
// LAN NIC, and the Iou between them. Threads: as for control::Worker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/follower_updates.h"
#include "control/daemon/uplinks.h"
#include "control/daemon/worker.h"
#include "iou_module/admission.h"
#include "iou_module/iou.h"
#include "iou_module/iou_admin.h"
#include "iou_module/nic/nic_opener.h"
#include "iou_module/policy/allow_underlay.h"
#include "iou_module/policy/iou_options.h"
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
  // The same from now on, in its data thread, also without a hosts file.
  void replace_known_hosts(std::shared_ptr<const KnownHosts> known) {
    for (const auto& gate : gates_) gate->set_allowed(known->addresses());
    unit_->set_hosts_max(known->hosts_max());
    admission_.replace(std::move(known), clock_.now());
  }
  // To the switches of --attach.
  control::Uplinks& uplinks() { return uplinks_; }
  // Listens at queue queue() of every --listen, and lets the known hosts attach. An error: at one
  // of them it cannot, and the next call continues with that. After those uplinks are open.
  base::Status listen();
  // Takes its queue of each LAN NIC and serves hosts, as one of `queues`; `all` has as many and
  // outlives this. REQUIRES that listen() succeeded.
  void start(std::vector<std::unique_ptr<lan::FramePort>> lans, std::uint32_t queues,
             QueueSet& all);

  // For queue 0: these follow its uplinks from now on. They outlive its thread.
  void lead(const std::vector<IouWorker*>& followers);
  // How a NIC that is back is opened.
  struct NicReturn {
    NicOpener* opener = nullptr;  // of queue 0; null: no NIC is
    IouWorker* first = nullptr;   // queue 0
    // Closes them in another thread: the kernel takes its time.
    std::function<void(std::shared_ptr<lan::FramePort::Descriptors>)> close;
  };
  void set_return(NicReturn how) { return_ = std::move(how); }

  control::Admin& admin() override { return admin_; }
  std::size_t ports() const override { return unit_->nics().size(); }
  lan::FramePort& port(std::size_t index) override { return nic(index).port(); }
  bool wants_input(std::size_t index) override { return nic(index).wants_input(); }
  bool wants_output(std::size_t index) override { return nic(index).wants_output(); }
  void on_port_event(std::size_t index, base::Time) override { nic(index).on_event(); }
  // The hosts of the other NICs stay. A NIC that is back is used again. One that only this process
  // could open, which has given up the right, needs another start: under a service manager the
  // program ends for that. [B-05]
  base::Status on_port_gone(std::size_t index) override;
  void set_readable(std::size_t index, bool is_readable) override {
    nic(index).set_readable(is_readable);
  }
  bool step(base::Time now) override;
  base::Time deadline() const override {
    return std::min({unit_->deadline(), uplinks_.deadline(), updates_.deadline(),
                     opens_nics() ? return_.opener->deadline() : base::kNever});
  }
  std::uint64_t bytes_processed() const override { return unit_->bytes_processed(); }
  std::string status() const override;
  void begin_stop() override { unit_->begin_stop(); }
  bool is_drained() const override { return unit_->is_drained(); }
  void stop(base::Time now) override { unit_->stop(now); }

 private:
  LanNic& nic(std::size_t index) { return *unit_->nics()[index]; }
  control::Uplinks uplinks_to_switches();
  base::Result<std::size_t> attach_to(std::size_t number, const control::Endpoint& at,
                                      bool is_awaited);
  void follow_names(base::Time now);
  bool opens_nics() const { return return_.opener != nullptr && queue() == 0; }
  bool may_return(const lan::FramePort& nic) const {
    return return_.opener != nullptr && nic.can_return() && !(opens_nics() && has_lost_opener());
  }
  bool has_lost_opener() const { return return_.opener->has_ended(); }
  void leave_out_lan_interfaces();
  void request(std::size_t index) { return_.opener->request(index, 1 + followers_.size()); }
  void pass_on(NicOpener::Opened opened);
  bool use(std::size_t index, base::UniqueFd socket);
  base::Status listen_at(const control::Endpoint& endpoint);
  base::Status report_back(const lan::FramePort& nic);
  void report_refusal(std::size_t index, const base::Error& why);
  IouConfig unit_config(std::uint32_t queues) const;
  void visit_carriers(const base::CounterVisitor& visitor) const;

  const IouOptions& options_;
  Admission admission_;
  IouAdmin admin_;
  // To each of options_.switches, over its uplink; null: that is not open.
  std::vector<const fabric::Link*> hops_;
  control::Uplinks uplinks_;
  std::uint64_t addresses_ = 0;  // of switches that were tried, after the first
  control::FollowerUpdates updates_;
  std::size_t listening_ = 0;  // how many of options_.listen, from the first, are open
  std::vector<std::unique_ptr<AllowUnderlay>> gates_;
  std::vector<std::unique_ptr<lan::WatchedPort>> lans_;
  std::unique_ptr<Iou> unit_;
  enum class Gone : std::uint8_t { kNo, kReported, kRefusalReported, kBackReported };
  std::vector<Gone> gone_;  // by NIC
  std::vector<IouWorker*> followers_;
  NicReturn return_;
};

}  // namespace splitnic::iou
