#include "host_module/worker.h"

#include <optional>

#include "base/log.h"
#include "control/parse_outcome.h"
#include "host_module/local_addresses.h"
#include "host_module/route_check.h"

namespace splitnic::host {
namespace {

constexpr base::Duration kSilenceMax = std::chrono::seconds(3);
constexpr base::Duration kNotifyAgain = std::chrono::milliseconds(1);

fabric::AdapterLimits adapter_limits() {
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;  // the peer reaches windows only
  limits.ports = kUnitsMax;
  return limits;
}

}  // namespace

HostWorker::HostWorker(const control::Process& process, const HostOptions& options,
                       std::uint32_t queue)
    : Worker(process, options.common, adapter_limits(), queue),
      options_(options),
      admin_(options, clock_,
             [this](const base::CounterVisitor& visitor) { visit_carrier_counters(visitor); }) {}

base::Result<std::uint32_t> HostWorker::open_fabric(const Endpoints& at, bool needs_all) {
  ways_.resize(options_.units.size());
  at_ = at;
  std::optional<base::Error> first_error;
  std::optional<std::size_t> call_bytes;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (ways_[i].port == nullptr && at[i]) {
      auto way = open_way(i, *at[i]);
      if (!way) {
        if (!first_error) first_error = way.error();
        continue;
      }
      ways_[i] = *way;
    }
    if (ways_[i].port == nullptr) continue;
    const std::size_t bytes = ways_[i].port->batch_payload_max(ways_[i].address);
    call_bytes = std::min(bytes, call_bytes.value_or(bytes));
  }
  if (first_error && (needs_all || !call_bytes)) return *first_error;
  if (!needs_all && call_bytes) await_others();
  return static_cast<std::uint32_t>(*call_bytes);
}

void HostWorker::await_others() {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const control::Endpoint& to = options_.units[i].connect;
    if (ways_[i].port != nullptr || to.is_shm()) continue;
    at_[i].reset();
    if (auto way = open_way(i, to)) {
      ways_[i] = *way;
    } else {
      base::log_warn(way.error().text());
    }
  }
}

base::Result<HostWorker::Way> HostWorker::open_way(std::size_t unit, const control::Endpoint& at) {
  const control::CarrierConfig carrying{
      .bind_device = options_.fabric_device,
      .own_device = options_.is_here() ? options_.tap.interface : "",
      .is_awaited = !at_[unit],
      .uses_gso = options_.common.uses_gso,
      .reports_limits = queue() == 0 && unit == 0};
  return options_.units[unit].node.empty() ? connect_to_unit(unit, at, carrying)
                                           : attach_to_switch(unit, at, carrying);
}

// The fabric must not run over the interface that it makes.
base::Status HostWorker::check_route(const control::Carrier& carrier,
                                     const UnitOptions& unit) const {
  if (!options_.is_here() || interface_of(carrier.local) != options_.tap.interface) return {};
  return base::Error("the route to " + unit.connect.text() + " leads through " +
                     options_.tap.interface +
                     " itself: give the fabric a separate route, or --fabric-dev");
}

std::span<const fabric::session::PublicKey> HostWorker::key_of(std::size_t unit) const {
  const auto& keys = options_.common.keys.peers;
  return std::span(keys).subspan(std::min(unit, keys.size()), unit < keys.size() ? 1 : 0);
}

// Units behind one port of a switch are reached over one attachment.
base::Result<HostWorker::Way> HostWorker::attach_to_switch(std::size_t unit,
                                                           const control::Endpoint& at,
                                                           const control::CarrierConfig& carrying) {
  const UnitOptions& to = options_.units[unit];
  for (std::size_t i = 0; i < unit; ++i) {
    const Way& shared = ways_[i];
    if (!shared.address_of || options_.units[i].connect != to.connect) continue;
    Way way = shared;
    way.address = shared.address_of(to.node);
    return way;
  }
  const auto attached = attach(at, carrying, "host", key_of(unit));
  if (!attached) return attached.error();
  if (auto route = check_route(carriers_.all().back(), to); !route) return route.error();
  const auto port =
      add_attached_port(**attached, options_.common.port, "host", to.connect.is_shm());
  if (!port) return port.error();
  return Way{*port,
             (*attached)->peer(to.node),
             (*attached)->link().address(),
             [at = *attached](const std::string& node) { return at->peer(node); },
             &(*attached)->link(),
             carriers_.all().size() - 1};
}

base::Result<HostWorker::Way> HostWorker::connect_to_unit(std::size_t unit,
                                                          const control::Endpoint& unit_at,
                                                          const control::CarrierConfig& carrying) {
  const auto at = unit_at.of_queue(queue());
  if (!at) return at.error();
  auto carrier = control::connect_carrier(*at, carrying);
  if (!carrier) return carrier.error().within("connecting to " + at->text());
  if (auto route = check_route(*carrier, options_.units[unit]); !route) return route.error();
  Way way;
  way.address = carrier->peer;
  const auto underlay = carriers_.add(*std::move(carrier), at->text());
  if (!underlay) return underlay.error();
  way.carrier = carriers_.all().size() - 1;
  fabric::PortConfig config = options_.common.port;
  fabric::Underlay* top = *underlay;
  if (options_.common.keys.are_given()) {
    const auto keyed = add_keys(*top, key_of(unit), way.address);
    if (!keyed) return keyed.error();
    top = keyed->underlay;
    way.address = way.neighbour = keyed->peers.front();
    config.eui64 = fabric::Eui64(keyed->eui64);
  }
  const auto port = add_port(*top, config, "host", at->is_shm());
  if (!port) return port.error();
  way.port = *port;
  return way;
}

void HostWorker::start(std::unique_ptr<lan::FramePort> port, std::uint32_t queues) {
  tap_ = std::move(port);
  host_ = std::make_unique<Host>(host_config(queues), adapter_, *tap_, random_);
  admin_.attach(*host_, *tap_);
  if (queue() > 0) return;
  for (std::size_t i = 0; i < ways_.size(); ++i) connect(i, clock_.now());
}

void HostWorker::connect(std::size_t unit, base::Time now) {
  const Way& way = ways_[unit];
  if (way.port == nullptr || host_->link_to(unit) != nullptr) return;
  host_->add_unit(unit, *way.port, way.address, now);
  silent_at_ = now + kSilenceMax;
}

// Nothing is sent to an endpoint before the I/O unit has reported that it has this queue: it may be
// somebody else's.
void HostWorker::follow(const QueueZero& state, const Endpoints& at) {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (ways_[i].port == nullptr || !at[i] || at[i] == at_[i]) continue;
    if (auto led = lead_way(i, *at[i]); !led) base::log_warn(led.error().text());
  }
  if (state.is_configured && queue() < state.queues) connect(state.unit_number, clock_.now());
  host_->follow(state);
}

// A follower that cannot take it now gets it again, as all do.
void HostWorker::notify_followers(base::Time now) {
  notify_again_at_ = base::kNever;
  const QueueZero state = host_->queue_zero();
  if (state == notified_ && !has_moved_) return;
  bool is_notified = true;
  for (HostWorker* follower : followers_) {
    is_notified &=
        follower->commands().post([follower, state, at = at_] { follower->follow(state, at); });
  }
  if (is_notified) {
    notified_ = state;
    has_moved_ = false;
  } else {
    notify_again_at_ = now + kNotifyAgain;
  }
}

HostConfig HostWorker::host_config(std::uint32_t queues) const {
  HostConfig config;
  config.pair = pair_config(queues);
  config.pair.nic = options_.nic;
  config.pair.program = control::version_text("splitnic-host");
  config.queue = queue();
  config.units = ways_.size();
  if (options_.failback) config.failback = std::chrono::seconds(*options_.failback);
  config.takes_lan_mac = queue() == 0 && options_.mac.kind == MacChoice::Kind::kNic;
  config.mtu = options_.common.mtu;
  config.idle_release = std::chrono::seconds(options_.idle_release);
  if (options_.is_tap() && queue() == 0) {
    config.addresses = [this] {
      if (tap_->is_elsewhere()) return std::vector<lan::LocalAddress>();
      return local_addresses(options_.tap.interface);
    };
  }
  return config;
}

bool HostWorker::step(base::Time now) {
  const bool made_progress = host_->step(now, is_readable_);
  if (!names_.empty()) follow_names(now);
  notify_followers(now);
  if (now >= silent_at_) {
    silent_at_ = base::kNever;
    warn_of_silence();
  }
  return made_progress;
}

void HostWorker::follow_names(std::vector<std::unique_ptr<control::NameLookup>> lookups) {
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    const bool is_followed = (options_.units[i].connect.is_name() || !at_[i]) && has_way(i);
    const auto shares = [&](const Way& way) { return way.port == ways_[i].port; };
    if (!is_followed || std::any_of(ways_.begin(), ways_.begin() + static_cast<long>(i), shares)) {
      continue;
    }
    names_.add(i, std::move(lookups[i]), at_[i].value_or(control::Endpoint()), clock_.now());
  }
}

void HostWorker::follow_names(base::Time now) {
  // A hop to a switch is what its name is about.
  const auto heard = [this, now](std::size_t unit) {
    const Way& way = ways_[unit];
    const fabric::Link* const link = way.hop != nullptr ? way.hop : host_->link_to(unit);
    return link == nullptr || is_heard(*link, now);
  };
  while (const auto move = names_.next(heard, now)) {
    if (const auto led = lead_way(move->peer, move->to); !led) {
      base::log_debug(led.error().text());
      names_.on_failed(move->peer);
      continue;
    }
    has_moved_ = true;
    host_->on_unit_moved();
    base::log_debug("the I/O unit " + options_.units[move->peer].text() + " is looked for at " +
                    move->to.text());
  }
}

base::Status HostWorker::lead_way(std::size_t unit, const control::Endpoint& to) {
  if (auto led = move_carrier(ways_[unit].carrier, to); !led) return led;
  at_[unit] = to;
  return {};
}

// Nothing has been heard since the start; the attempts continue.
void HostWorker::warn_of_silence() const {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const fabric::Link* const link = host_->link_to(i);
    if (link == nullptr || link->peer_instance() != 0 || !at_[i]) continue;
    if (link->refusal() == fabric::InitReason::kNone) warn_of_silence(ways_[i], *link);
  }
}

void HostWorker::warn_of_silence(const Way& way, const fabric::Link& link) const {
  if (queue() > 0) {
    base::log_warn("queue " + std::to_string(queue()) + ": no reply from " + link.peer_name() +
                   ", the other queues continue without it: do firewalls let this port pass?");
    return;
  }
  if (common_.keys.are_given() && !keyed_.are_agreed(way.neighbour)) {
    const bool is_direct = !way.address_of;
    base::log_warn("no reply from " + link.peer_name() + ", still trying: is the " +
                   (is_direct ? "I/O unit" : "switch") +
                   " down or the address wrong, do firewalls let its UDP port pass, is --peer its "
                   "key, and does its " +
                   (is_direct ? "--allow-key name our key" : "topology file have our key there") +
                   "? It is silent to keys that are not known there");
    return;
  }
  base::log_warn("no reply from " + link.peer_name() +
                 ", still trying: is splitnic-iou running there, do firewalls let its UDP port "
                 "pass, and does its --allow, if it has one, name this machine?");
}

}  // namespace splitnic::host
