#include "iou_module/daemon.h"

#include <memory>
#include <vector>

#include "control/daemon/daemon.h"
#include "iou_module/admin.h"
#include "iou_module/allow_underlay.h"
#include "iou_module/iou.h"
#include "lan_bridge/ports/port_factory.h"

namespace splitnic::iou {
namespace {

class IouDaemon final : public control::Daemon {
 public:
  explicit IouDaemon(const IouOptions& options)
      : Daemon("splitnic-iou", options.common, adapter_limits(options.max_hosts)),
        options_(options),
        admin_(options, clock_,
               [this](const base::CounterVisitor& visitor) { visit_carriers(visitor); }) {}

 private:
  base::Status open() override;
  control::Admin& admin() override { return admin_; }
  std::size_t ports() const override { return unit_->nics().size(); }
  lan::FramePort& port(std::size_t index) override { return nic(index).port(); }
  bool wants_input(std::size_t index) override { return nic(index).wants_input(); }
  bool wants_output(std::size_t index) override { return nic(index).wants_output(); }
  void on_port_event(std::size_t index, base::Time) override { nic(index).on_event(); }
  void set_readable(std::size_t index, bool is_readable) override {
    nic(index).set_readable(is_readable);
  }
  bool step(base::Time now) override { return unit_->step(now); }
  base::Time deadline() const override { return unit_->deadline(); }
  std::uint64_t bytes_processed() const override { return unit_->bytes_processed(); }
  void begin_stop() override { unit_->begin_stop(); }
  bool is_drained() const override { return unit_->is_drained(); }
  void stop(base::Time now) override { unit_->stop(now); }

  LanNic& nic(std::size_t index) { return *unit_->nics()[index]; }
  base::Status open_lans();
  base::Status listen(const control::Endpoint& endpoint);
  IouConfig unit_config() const;
  void visit_carriers(const base::CounterVisitor& visitor) const;

  const IouOptions& options_;
  Admin admin_;
  std::vector<std::unique_ptr<AllowUnderlay>> gates_;
  std::vector<std::unique_ptr<lan::FramePort>> lans_;
  std::unique_ptr<Iou> unit_;
};

base::Status IouDaemon::open() {
  if (auto opened = open_lans(); !opened) return opened;
  for (const control::Endpoint& endpoint : options_.listen) {
    if (auto opened = listen(endpoint); !opened) return opened;
  }
  std::vector<lan::FramePort*> lans;
  for (const auto& lan : lans_) lans.push_back(lan.get());
  unit_ = std::make_unique<Iou>(unit_config(), adapter_, lans, random_);
  admin_.attach(*unit_);
  return {};
}

// The fabric's own datagrams are never captured as frames of the LAN.
base::Status IouDaemon::open_lans() {
  lan::PortOptions port;
  for (const control::Endpoint& endpoint : options_.listen) {
    if (!endpoint.is_shm()) port.exclude.push_back({endpoint.port, endpoint.host});
  }
  port.mtu = options_.common.mtu.value_or(0);
  for (const control::PortSpec& spec : options_.lan) {
    auto opened = lan::open_port(spec.text, port, clock_);
    if (!opened) return opened.error();
    lans_.push_back(*std::move(opened));
  }
  return {};
}

base::Status IouDaemon::listen(const control::Endpoint& endpoint) {
  auto carrier = control::listen_carrier(
      endpoint, {.has_no_gso = options_.common.has_no_gso, .clients_max = options_.max_hosts});
  if (!carrier) return carrier.error().within("listening on " + endpoint.text());
  const auto added = carriers_.add(*std::move(carrier), endpoint.text());
  if (!added) return added.error();
  fabric::Underlay* underlay = *added;
  if (!endpoint.is_shm()) {  // shm hosts have no address
    gates_.push_back(std::make_unique<AllowUnderlay>(*underlay, options_.allow));
    underlay = gates_.back().get();
  }
  fabric::PortConfig config = options_.common.port;
  config.listens = true;
  config.links_max = options_.max_hosts;
  const std::string role = "iou/" + std::to_string(carriers_.all().size());
  const auto port = add_port(*underlay, config, role, endpoint.is_shm());
  return port ? base::Status() : port.error();
}

IouConfig IouDaemon::unit_config() const {
  IouConfig config;
  config.hosts_max = options_.max_hosts;
  config.policy.mtu_follows = options_.follows_lan_mtu;
  config.host.pair = options_.common.pair;
  config.host.pair.queues = messaging::kQueuesMax;
  return config;
}

void IouDaemon::visit_carriers(const base::CounterVisitor& visitor) const {
  carriers_.visit_counters(visitor);
  for (const auto& gate : gates_) visitor("iou.allow.drop.address", gate->refused());
}

}  // namespace

int run(const IouOptions& options) { return IouDaemon(options).run(); }

}  // namespace splitnic::iou
