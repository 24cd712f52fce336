#include "host_module/worker.h"

#include "base/log.h"
#include "host_module/local_addresses.h"
#include "host_module/route_check.h"

namespace splitnic::host {
namespace {

constexpr base::Duration kSilenceMax = std::chrono::seconds(3);
constexpr base::Duration kNotifyAgain = std::chrono::milliseconds(1);

fabric::AdapterLimits adapter_limits() {
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;  // the peer reaches windows only
  return limits;
}

}  // namespace

HostWorker::HostWorker(const control::Process& process, const HostOptions& options,
                       std::uint32_t queue)
    : Worker(process, options.common, adapter_limits(), queue),
      options_(options),
      admin_(options, clock_,
             [this](const base::CounterVisitor& visitor) { visit_carrier_counters(visitor); }) {}

base::Result<std::uint32_t> HostWorker::open_fabric() {
  const auto unit = options_.connect.of_queue(queue());
  if (!unit) return unit.error();
  const control::CarrierConfig carrying{
      .bind_device = options_.fabric_device,
      .own_device = options_.is_tap() ? options_.tap.interface : "",
      .has_no_gso = options_.common.has_no_gso,
      .reports_limits = queue() == 0};
  return options_.unit.empty() ? connect_to_unit(*unit, carrying) : attach_to_switch(carrying);
}

// The fabric must not run over the interface that it makes.
base::Status HostWorker::check_route(const control::Carrier& carrier) const {
  if (!options_.is_tap() || interface_of(carrier.local) != options_.tap.interface) return {};
  return base::Error("the route to " + options_.connect.text() + " leads through " +
                     options_.tap.interface +
                     " itself: give the fabric a separate route, or --fabric-dev");
}

base::Result<std::uint32_t> HostWorker::attach_to_switch(const control::CarrierConfig& carrying) {
  const auto attached = attach(options_.connect, carrying, "host", common_.keys.peers);
  if (!attached) return attached.error();
  if (auto route = check_route(carriers_.all().back()); !route) return route.error();
  const auto port =
      add_attached_port(**attached, options_.common.port, "host", options_.connect.is_shm());
  if (!port) return port.error();
  fabric_ = *port;
  unit_address_ = (*attached)->peer(options_.unit);
  session_address_ = (*attached)->link().address();
  return static_cast<std::uint32_t>(fabric_->batch_payload_max(unit_address_));
}

base::Result<std::uint32_t> HostWorker::connect_to_unit(const control::Endpoint& unit,
                                                        const control::CarrierConfig& carrying) {
  auto carrier = control::connect_carrier(unit, carrying);
  if (!carrier) return carrier.error().within("connecting to " + unit.text());
  if (auto route = check_route(*carrier); !route) return route.error();
  unit_address_ = carrier->peer;
  const auto underlay = carriers_.add(*std::move(carrier), unit.text());
  if (!underlay) return underlay.error();
  fabric::PortConfig config = options_.common.port;
  fabric::Underlay* top = *underlay;
  if (options_.common.keys.are_given()) {
    const auto keyed = add_keys(*top, common_.keys.peers, unit_address_);
    if (!keyed) return keyed.error();
    top = keyed->underlay;
    unit_address_ = session_address_ = keyed->peers.front();
    config.eui64 = fabric::Eui64(keyed->eui64);
  }
  const auto port = add_port(*top, config, "host", unit.is_shm());
  if (!port) return port.error();
  fabric_ = *port;
  return static_cast<std::uint32_t>(fabric_->batch_payload_max(unit_address_));
}

void HostWorker::start(std::unique_ptr<lan::FramePort> port, std::uint32_t queues) {
  tap_ = std::move(port);
  host_ = std::make_unique<Host>(host_config(queues), adapter_, *tap_, random_);
  admin_.attach(*host_, *tap_);
  if (queue() == 0) connect(clock_.now());
}

void HostWorker::connect(base::Time now) {
  link_ = &fabric_->connect(unit_address_, now);
  silent_at_ = now + kSilenceMax;
}

// Nothing is sent to an endpoint before the I/O unit has reported that it has this queue: it may be
// somebody else's.
void HostWorker::follow(const QueueZero& state) {
  if (link_ == nullptr && state.is_configured && queue() < state.queues) connect(clock_.now());
  host_->follow(state);
}

// A follower that cannot take it now gets it again, as all do.
void HostWorker::notify_followers(base::Time now) {
  notify_again_at_ = base::kNever;
  const QueueZero state = host_->queue_zero();
  if (state == notified_) return;
  bool is_notified = true;
  for (HostWorker* follower : followers_) {
    is_notified &= follower->commands().post([follower, state] { follower->follow(state); });
  }
  if (is_notified) {
    notified_ = state;
  } else {
    notify_again_at_ = now + kNotifyAgain;
  }
}

HostConfig HostWorker::host_config(std::uint32_t queues) const {
  HostConfig config;
  config.pair = pair_config(queues);
  config.pair.nic = options_.nic;
  config.queue = queue();
  config.takes_lan_mac = queue() == 0 && options_.mac.kind == MacChoice::Kind::kNic;
  config.mtu = options_.common.mtu;
  config.idle_release = std::chrono::seconds(options_.idle_release);
  if (options_.is_tap() && queue() == 0) {
    config.addresses = [name = options_.tap.interface] { return local_addresses(name); };
  }
  return config;
}

bool HostWorker::step(base::Time now) {
  const bool made_progress = host_->step(now, is_readable_);
  notify_followers(now);
  if (now >= silent_at_) {
    silent_at_ = base::kNever;
    warn_of_silence();
  }
  return made_progress;
}

// Nothing has been heard since the start; the attempts continue.
void HostWorker::warn_of_silence() const {
  if (host_->link() != nullptr || link_->refusal() != fabric::InitReason::kNone) return;
  if (queue() > 0) {
    base::log_warn("queue " + std::to_string(queue()) + ": no reply from " + link_->peer_name() +
                   ", the other queues continue without it: do firewalls let this port pass?");
    return;
  }
  if (common_.keys.are_given() && !keyed_.are_agreed(session_address_)) {
    const bool is_direct = options_.unit.empty();
    base::log_warn("no reply from " + link_->peer_name() + ", still trying: is the " +
                   (is_direct ? "I/O unit" : "switch") +
                   " down or the address wrong, do firewalls let its UDP port pass, is --peer its "
                   "key, and does its " +
                   (is_direct ? "--allow-key name our key" : "topology file have our key there") +
                   "? It is silent to keys that are not known there");
    return;
  }
  base::log_warn("no reply from " + link_->peer_name() +
                 ", still trying: is splitnic-iou running there, do firewalls let its UDP port "
                 "pass, and does its --allow, if it has one, name this machine?");
}

}  // namespace splitnic::host
