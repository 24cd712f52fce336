#include "host_module/host_worker.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/log.h"
#include "control/config/version.h"
#include "control/fd_store.h"
#include "host_module/local_addresses.h"
#include "host_module/route_check.h"

namespace splitnic::host {
namespace {

constexpr base::Duration kSilenceMax = std::chrono::seconds(3);
constexpr base::Duration kSilenceRepeat = std::chrono::minutes(1);  // of what is reported of it

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
      stable_mac_(control::stable_mac(options.common.name())),
      admin_(options, clock_,
             [this](const base::CounterVisitor& visitor) { visit_below(visitor); }),
      ways_(options.units.size()),
      uplinks_(uplinks_to_units()) {}

control::Uplinks HostWorker::uplinks_to_units() {
  std::vector<control::Uplinks::Peer> units;
  for (const UnitOptions& unit : options_.units) {
    units.push_back({unit.connect, "the I/O unit " + unit.text()});
  }
  return {std::move(units),
          {.open = [this](std::size_t unit, const control::Endpoint& at,
                          bool is_awaited) { return open_way(unit, at, is_awaited); },
           .move = [this](std::size_t carrier,
                          const control::Endpoint& to) { return move_carrier(carrier, to); }}};
}

std::uint32_t HostWorker::call_bytes() const {
  std::size_t bytes = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (!uplinks_.is_open(i) || uplinks_.is_awaited(i)) continue;
    bytes = std::min(bytes, ways_[i].port->batch_payload_max(ways_[i].address));
  }
  return static_cast<std::uint32_t>(bytes);
}

base::Result<std::size_t> HostWorker::open_way(std::size_t unit, const control::Endpoint& at,
                                               bool is_awaited) {
  const control::CarrierConfig carrying{
      .bind_device = options_.fabric_device,
      .own_device = options_.is_here() ? options_.tap.interface : "",
      .is_awaited = is_awaited,
      .uses_gso = options_.common.uses_gso,
      .reports_limits = queue() == 0 && unit == 0};
  auto way = options_.units[unit].node.empty() ? connect_to_unit(unit, at, carrying)
                                               : attach_to_switch(unit, at, carrying);
  if (!way) return way.error();
  ways_[unit] = *std::move(way);
  return ways_[unit].carrier;
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
    way.address = shared.address_of(to);
    return way;
  }
  const auto attached = attach(at, carrying, "host", key_of(unit));
  if (!attached) return attached.error();
  if (auto route = check_route(carriers_.all().back(), to); !route) return route.error();
  const auto port =
      add_attached_port(**attached, options_.common.port, "host", to.connect.is_shm());
  if (!port) return port.error();
  return Way{
      *port,
      (*attached)->peer(to.node, to.path),
      (*attached)->link().address(),
      [at = *attached](const UnitOptions& other) { return at->peer(other.node, other.path); },
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

void HostWorker::start(std::unique_ptr<lan::FramePort> port, std::uint32_t queues,
                       std::function<std::optional<lan::AddressLists>()> lists) {
  tap_ =
      std::make_unique<lan::WatchedPort>(std::move(port), clock_, lan::WatchedPort::Reads::kSent);
  HostConfig config = host_config(queues);
  config.lists = std::move(lists);
  host_ = std::make_unique<Host>(config, adapter_, *tap_, random_);
  admin_.attach(*host_, *tap_, [this](std::size_t unit) { return advice(unit); });
  if (queue() > 0) return;
  for (std::size_t i = 0; i < ways_.size(); ++i) connect(i, clock_.now());
}

void HostWorker::visit_below(const base::CounterVisitor& visitor) const {
  visit_carrier_counters(visitor);
  if (tap_ != nullptr) tap_->watch_counters().visit(visitor);
}

void HostWorker::connect(std::size_t unit, base::Time now) {
  const Way& way = ways_[unit];
  if (!uplinks_.is_open(unit) || host_->link_to(unit) != nullptr) return;
  host_->add_unit(unit, *way.port, way.address, now);
  silent_at_ = now + kSilenceMax;
}

// Nothing is sent to an endpoint before the I/O unit has reported that it has this queue: it may be
// somebody else's.
void HostWorker::follow(const QueueZero& state, const control::Uplinks::Endpoints& at) {
  uplinks_.lead(at);
  if (state.is_configured && queue() < state.queues) connect(state.unit_number, clock_.now());
  host_->follow(state);
}

void HostWorker::lead(const std::vector<HostWorker*>& followers) {
  for (HostWorker* const follower : followers) {
    updates_.add([this, follower] {
      return follower->commands().post([follower, state = notified_, at = uplinks_.endpoints()] {
        follower->follow(state, at);
      });
    });
  }
}

void HostWorker::notify_followers(base::Time now) {
  if (const QueueZero state = host_->queue_zero(); state != notified_) {
    notified_ = state;
    updates_.request(now);
  }
  updates_.step(now);
}

std::string HostWorker::status() const {
  const std::size_t unit = host_->unit_in_use().value_or(0);
  const std::string name = options_.units[unit].text();
  const std::string& nic = options_.is_tap() ? options_.tap.interface : options_.tap.text;
  const std::string end = !host_->nic().sync().wanted.admin_up ? nic + " is set down"
                          : host_->nic().has_carrier()         ? nic + " up"
                                                               : nic + " has no carrier";
  if (host_->nic_up()) return "connected to " + name + ", " + end;
  const std::string error = host_->link() == nullptr ? "" : host_->last_error(unit);
  return "connecting to " + name + (error.empty() ? "" : ": " + error) + ", " + end;
}

// Of the interface, with this choice; none: it stays as it is, or is that of a NIC that is not
// known yet.
std::optional<lan::MacAddress> HostWorker::mac_of(const MacChoice& choice) const {
  switch (choice.kind) {
    case MacChoice::Kind::kGiven:
      return choice.given;
    case MacChoice::Kind::kNic:
      if (host_->nic().sync().lan_mac == lan::MacAddress{}) return std::nullopt;
      return host_->nic().sync().lan_mac;
    case MacChoice::Kind::kStable:
      if (options_.adopts_tap) return std::nullopt;
      return stable_mac_;
  }
  return std::nullopt;
}

base::Status HostWorker::change_interface(const HostOptions& read,
                                          const control::OptionChanges& changes) {
  const lan::PortState before = tap_->state();
  if (changes.has("mac")) {
    const lan::MacAddress mac = mac_of(read.mac).value_or(before.mac);
    if (mac != before.mac) {
      if (auto done = tap_->set_mac(mac); !done) return done;
    }
  }
  if (changes.has("mtu") && read.common.mtu.value_or(before.mtu) != before.mtu) {
    if (auto done = tap_->set_mtu(*read.common.mtu); !done) {
      if (tap_->state().mac == before.mac) return done;
      if (auto back = tap_->set_mac(before.mac); !back) base::log_warn(back.error().text());
      return done;
    }
  }
  return {};
}

void HostWorker::change(const HostOptions& read, const control::OptionChanges& changes) {
  const base::Time now = clock_.now();
  std::optional<base::Duration> failback;
  if (read.failback) failback = std::chrono::seconds(*read.failback);
  host_->set_failback(failback);
  host_->set_idle_release(std::chrono::seconds(read.idle_release));
  if (changes.has("mac") && queue() == 0) {
    host_->nic().set_takes_lan_mac(read.mac.kind == MacChoice::Kind::kNic);
  }
  host_->on_tap_event(now);
  if (changes.has("mtu")) host_->nic().set_wanted_mtu(read.common.mtu, now);
}

void HostWorker::when_settled(const control::OptionChanges& changes, Settling::Done done) {
  using messaging::CfgCode;
  struct Open {
    std::size_t requests = 1;
    std::optional<std::string> why{};
  };
  const auto open = std::make_shared<Open>();
  const auto end = [open, done = std::move(done)](const std::optional<std::string>& why) {
    if (why) open->why = (open->why ? *open->why + "; " : "") + *why;
    if (--open->requests == 0) done(open->why);
  };
  for (const auto& [option, code] :
       {std::pair{"mac", CfgCode::kSetMac}, std::pair{"mtu", CfgCode::kSetMtu}}) {
    if (!changes.has(option)) continue;
    ++open->requests;
    host_->nic().when_settled(code, clock_.now(), end);
  }
  end(std::nullopt);
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
  config.keeps_carrier =
      queue() == 0 && options_.is_tap() && !options_.adopts_tap && control::has_fd_store();
  config.idle_release = std::chrono::seconds(options_.idle_release);
  config.send_error = [this](std::size_t unit) {
    const Way& way = ways_[unit];
    const auto& carriers = carriers_.all();
    if (way.port == nullptr || way.carrier >= carriers.size()) return 0;
    return carriers[way.carrier].udp == nullptr ? 0 : carriers[way.carrier].udp->last_error();
  };
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
  if (uplinks_.follows_names()) follow_names(now);
  notify_followers(now);
  if (hooks_ != nullptr && !has_reported_carrier_ && host_->nic_up() && host_->nic().has_carrier())
    report_carrier();
  if (now >= silent_at_) {
    silent_at_ = now + kSilenceRepeat;
    warn_of_silence(now);
  }
  return made_progress;
}

void HostWorker::report_carrier() {
  const messaging::Connection* const connection = host_->connection();
  if (connection == nullptr) return;
  has_reported_carrier_ = true;
  const NicConfig& nic = host_->nic();
  hooks_->report_up({{"NAME", options_.common.name()},
                     {"TAP", options_.tap.interface},
                     {"NETNS", options_.net_namespace},
                     {"UNIT", options_.units[host_->unit_in_use().value_or(0)].text()},
                     {"UNIT_NAME", connection->first().peer_name()},
                     {"MTU", std::to_string(nic.mtu())},
                     {"MAC", control::mac_text(nic.mac())}});
}

void HostWorker::follow_names(base::Time now) {
  // A hop to a switch is what its name is about.
  const auto heard = [this, now](std::size_t unit) {
    const Way& way = ways_[unit];
    const fabric::Link* const link = way.hop != nullptr ? way.hop : host_->link_to(unit);
    return link == nullptr || is_heard(*link, now);
  };
  const std::size_t moves = uplinks_.step(heard, now);
  if (moves == 0) return;
  host_->on_units_moved(moves);
  updates_.request(now);
}

// Of each unit that does not reply; the attempts continue. Of an additional queue only if nothing
// was ever heard.
void HostWorker::warn_of_silence(base::Time now) const {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const fabric::Link* const link = host_->link_to(i);
    if (link == nullptr || link->up() || uplinks_.is_awaited(i)) continue;
    if (queue() > 0 && link->peer_instance() != 0) continue;
    if (link->refusal() != fabric::InitReason::kNone) continue;
    if (now >= host_->changed_at(i) + kSilenceMax) warn_of_silence(i, *link);
  }
}

void HostWorker::warn_of_silence(std::size_t unit, const fabric::Link& link) const {
  const std::string error = host_->send_error(unit);
  const std::string no_reply =
      "no reply from " + link.peer_name() + (error.empty() ? "" : " (" + error + ")");
  if (queue() > 0) {
    base::log_warn(
        "queue " + std::to_string(queue()) + ": " + no_reply +
        ", the other queues continue without it: check that firewalls let this port pass");
    return;
  }
  base::log_warn(no_reply + ", still trying: " + advice(unit));
}

std::string HostWorker::advice(std::size_t unit) const {
  const Way& way = ways_[unit];
  if (!common_.keys.are_given() || keyed_.are_agreed(way.neighbour)) {
    return "is splitnic-iou running there, do firewalls let its UDP port pass, and does its "
           "--allow, if it has one, name this machine?";
  }
  const bool is_direct = !way.address_of;
  return std::string("is the ") + (is_direct ? "I/O unit" : "switch") +
         " down or the address wrong, do firewalls let its UDP port pass, is --peer its key, and "
         "does its " +
         (is_direct ? "--allow-key name our key" : "topology file have our key there") +
         "? It is silent to keys that are not known there, and to a key that another machine uses";
}

}  // namespace splitnic::host
