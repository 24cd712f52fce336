#include "tests/sim/sim_world.h"

#include <algorithm>
#include <array>

#include "tests/sim/sim_carrier.h"
#include "tests/support/counter_sum.h"

namespace splitnic::sim {
namespace {

constexpr lan::MacAddress kHostMac{0x02, 0, 0, 0, 0, 0x0A};
constexpr lan::MacAddress kLanMac{0x02, 0, 0, 0, 0, 0x0B};
constexpr lan::MacAddress kPeerMac{0x02, 0, 0, 0, 0, 0x0C};

// An idle process wakes up for nothing at most this often in a row.
constexpr std::uint64_t kIdleIterationsMax = 2000;

// Receives are posted before elements are advertised, so RNR does not occur; the peers are ours, so
// no message or access of theirs is refused.
constexpr auto kForbidden = std::to_array<std::string_view>({"fabric.tx.rnr",
                                                             "fabric.rx.rnr",
                                                             "fabric.drop.no_receive",
                                                             "fabric.drop.access",
                                                             "fabric.cq.overflow",
                                                             "fabric.tx.naks",
                                                             "msg.drop.short",
                                                             "msg.drop.align",
                                                             "msg.drop.function",
                                                             "msg.drop.version",
                                                             "msg.drop.too_long",
                                                             "msg.drop.role",
                                                             "msg.drop.pool",
                                                             "msg.drop.range",
                                                             "msg.drop.state",
                                                             "iou.from_host.drop.vnet",
                                                             "iou.from_host.drop.short",
                                                             "iou.from_host.drop.stopped",
                                                             "iou.from_host.drop.spoof",
                                                             "host.rx.drop.vnet"});

// Enough that each queue has some.
std::size_t flows_of(const WorldConfig& config) {
  return config.host_pair.queues == 1 ? 1 : Ledger::kFlowsMax;
}

}  // namespace

// As a hosts file gives them: each has its address.
struct World::Rights final : iou::RightsSource {
  explicit Rights(fabric::Eui64 host_in) : host(host_in) {}
  iou::HostRights rights_of(const fabric::Link& link) const override {
    iou::HostRights rights;
    rights.macs = {link.peer_eui64() == host ? kHostMac : HostileHost::kMac};
    return rights;
  }
  bool is_of_another(const lan::MacAddress& mac, const fabric::Link& link) const override {
    return mac == (link.peer_eui64() == host ? HostileHost::kMac : kHostMac);
  }
  const fabric::Eui64 host;
};

World::World(const WorldConfig& config_in)
    : config(config_in),
      random(config_in.seed),
      tap(kHostMac),
      lan(kLanMac),
      to_lan("to LAN", kHostMac, kPeerMac, flows_of(config_in)),
      to_host("to host", kPeerMac, kHostMac, flows_of(config_in)),
      hub_(config_in.path),
      host_eui64_(eui64_of(config_in, Node::kHost)) {
  iou_end_ = &hub_.add_endpoint();
  host_end_ = &hub_.add_endpoint();
  host_path_ = std::make_unique<fabric::FaultUnderlay>(*host_end_, random, clock, config.faults);
  iou_path_ = std::make_unique<fabric::FaultUnderlay>(*iou_end_, random, clock, config.faults);
  if (config.hostility != Hostility::kNone) {
    hostile_end_ = &hub_.add_endpoint();
    rights_ = std::make_unique<Rights>(host_eui64_);
  }
  lan.on_write = [this](base::Bytes frame) {
    iou_canary_.delivered(frame);
    if (take_hostile(frame)) return;
    if (config.addresses && frame.size() <= lan::kAnnounceBytesMax)
      announced.emplace_back(frame.begin(), frame.end());
    else
      to_lan.take(frame);
  };
  tap.on_write = [this](base::Bytes frame) {
    host_canary_.delivered(frame);
    if (!take_hostile(frame)) to_host.take(frame);
  };
  start_iou();
  start_host();
  start_hostile();
}

World::~World() {
  hostile.reset();
  host->stop(clock.now());
  iou->stop(clock.now());
}

void World::start_iou() {
  iou_adapter_ = std::make_unique<fabric::Adapter>(
      fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows}, random);
  fabric::PortConfig port;
  port.eui64 = eui64_of(config, Node::kUnit);
  port.instance = random.next() | 1;
  port.profile = config.profile;
  port.mcp_wanted = config.cell_bytes;
  port.listens = true;
  const auto added = iou_adapter_->add_port(carrier_of_unit(), port);
  CHECK(added.has_value());
  iou::IouConfig unit;
  unit.rights = rights_.get();
  unit.host.pair = config.iou_pair;
  unit.host.pair.node_name = "iou";
  iou = std::make_unique<iou::Iou>(unit, *iou_adapter_, lan, random);
}

void World::start_host() {
  host_adapter_ = std::make_unique<fabric::Adapter>(
      fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows}, random);
  fabric::PortConfig port;
  port.eui64 = host_eui64_;
  port.instance = random.next() | 1;
  port.profile = config.profile;
  port.mcp_wanted = config.cell_bytes;
  const auto [path, unit_at] = carrier_of_host();
  const auto added = host_adapter_->add_port(*path, port);
  CHECK(added.has_value());
  host::HostConfig settings;
  settings.pair = config.host_pair;
  settings.pair.node_name = "host";
  settings.addresses = config.addresses;
  settings.idle_release = config.idle_release;
  host_canary_.pages_go = config.idle_release > base::Duration{0};
  settings.queue = config.host_queue;
  host = std::make_unique<host::Host>(settings, *host_adapter_, tap, random);
  host->add_unit(0, **added, unit_at, clock.now());
}

void World::start_hostile() {
  if (hostile_end_ == nullptr) return;
  const HostileHost::Config what{.unit = iou_end_->address(),
                                 .unit_key = public_key_of(Node::kUnit),
                                 .stamp = next_stamp(),
                                 .eui64 = eui64_of(config, Node::kHostile),
                                 .profile = config.profile,
                                 .cell_bytes = config.cell_bytes,
                                 .victim = kHostMac,
                                 .victim_eui64 = host_eui64_};
  hostile = std::make_unique<HostileHost>(*hostile_end_, what, clock, random,
                                          config.hostility == Hostility::kQuiet);
}

// Returns true if the frame is of the hostile host. It leaves with its own address only.
bool World::take_hostile(base::Bytes frame) {
  if (!hostile || !HostileHost::is_source_of(frame)) return false;
  ++hostile_frames;
  if (lan::source_mac(frame.subspan(lan::kVnetHeaderBytes)) != HostileHost::kMac) {
    forbidden_.push_back("a frame with the address of another host was forwarded");
  }
  return true;
}

iou::AttachedHost* World::attached() const {
  iou::AttachedHost* found = nullptr;
  for (iou::AttachedHost* host_there : iou->hosts()) {
    if (host_there->identity().node().eui64 == host_eui64_) found = host_there;
  }
  return found;
}

bool World::is_host_up() const {
  const std::vector<iou::AttachedHost*> all = iou->hosts();
  return std::ranges::count_if(all, [this](const iou::AttachedHost* one) {
           return one->identity().node().eui64 == host_eui64_ && one->connection().up() &&
                  one->link().up();
         }) == 1;
}

// A killed process sends nothing: its sockets go, so what waited there is lost too.
void World::restart_host() {
  collect_forbidden();
  host->abandon(clock.now());
  host.reset();
  host_adapter_.reset();
  host_end_->clear();
  tap.forget_refused();
  ++restarts_;
  start_host();
}

void World::restart_iou() {
  collect_forbidden();
  iou->abandon(clock.now());
  iou.reset();
  iou_adapter_.reset();
  iou_end_->clear();
  lan.forget_refused();
  ++restarts_;
  start_iou();
}

// It sends BYE, and nobody replies until the new one has started.
void World::restart_iou_cleanly(base::Duration away) {
  iou->stop(clock.now());
  run(std::chrono::milliseconds(1));
  set_cut(true);
  run(away);
  restart_iou();
  set_cut(false);
}

void World::set_faults(const fabric::FaultConfig& faults) {
  host_path_->set_config(faults);
  iou_path_->set_config(faults);
}

void World::set_cut(bool cut) {
  host_path_->set_cut(cut);
  iou_path_->set_cut(cut);
}

void World::watch_pairs() {
  if (host_canary_.watch(host->connection())) tap.forget_refused();
  if (iou::AttachedHost* there = attached(); there != nullptr) {
    if (iou_canary_.watch(&there->connection())) lan.forget_refused();
  }
}

void World::iterate(base::Time end) {
  bool any_progress = false;
  for (int i = 0; i < 64; ++i) {
    const base::Time now = clock.now();
    bool made_progress = host->step(now, tap.queued() > 0);
    made_progress |= iou->step(now, lan.queued() > 0);
    if (hostile) made_progress |= hostile->step(now);
    watch_pairs();
    ++iterations;
    any_progress |= made_progress;
    if (!made_progress) break;
  }
  const base::Time now = clock.now();
  hash_ = (hash_ ^ static_cast<std::uint64_t>(now.time_since_epoch().count()) ^ to_lan.hash() ^
           (to_host.hash() << 1)) *
          0x100000001B3ULL;
  // Datagrams in flight take time: at least a microsecond per iteration.
  const base::Time due =
      std::min({host->deadline(), iou->deadline(), host_path_->deadline(), iou_path_->deadline(),
                hostile ? hostile->deadline() : base::kNever});
  idle_iterations_ = !any_progress && due <= now ? idle_iterations_ + 1 : 0;
  if (idle_iterations_ == kIdleIterationsMax)
    forbidden_.push_back("a deadline is due and nothing is done");
  const base::Time next =
      std::max(std::min(due, end), now + std::chrono::microseconds(any_progress ? 5 : 1));
  clock.set(std::min(next, std::max(end, now + std::chrono::microseconds(1))));
}

void World::run(base::Duration span) {
  const base::Time end = clock.now() + span;
  while (clock.now() < end) iterate(end);
}

bool World::quiet() const {
  return tap.queued() == 0 && lan.queued() == 0 && host->connection_up() &&
         host->connection()->pushes_in_flight() == 0 && is_host_up() &&
         std::ranges::all_of(iou->hosts(), [this](const auto& s) {
           return s->identity().node().eui64 != host_eui64_ ||
                  (s->tx().queue().empty() && s->connection().pushes_in_flight() == 0);
         });
}

std::string World::pools_fault() const {
  if (!host->connection_up() || !is_host_up()) return "there is no pair";
  const auto compare = [](const std::vector<messaging::PoolView>& owners,
                          const std::vector<messaging::PoolView>& users) -> std::string {
    for (const messaging::PoolView& ours : owners) {
      if (!ours.ours) continue;
      const std::string which = "pool " + std::to_string(ours.ref) + ": ";
      const auto theirs = std::ranges::find_if(users, [&](const messaging::PoolView& v) {
        return !v.ours && v.ref == ours.ref && v.queue == ours.queue;
      });
      if (theirs == users.end()) return which + "the peer does not know it";
      if (ours.in_use != 0 || theirs->in_use != 0) return which + "an element is in use";
      if (ours.available != theirs->available) {
        return which + std::to_string(ours.available) + " posted, " +
               std::to_string(theirs->available) + " available";
      }
      // Released elements are returned to the peer at the latest when half is used up.
      if (ours.available * 2 < ours.elements) return which + "elements were not returned";
    }
    return {};
  };
  const auto host_pools = host->connection()->pools();
  for (const auto& s : iou->hosts()) {
    if (!s->connection().up() || s->identity().node().eui64 != host_eui64_) continue;
    const auto iou_pools = s->connection().pools();
    if (auto fault = compare(host_pools, iou_pools); !fault.empty()) return "host's " + fault;
    if (auto fault = compare(iou_pools, host_pools); !fault.empty()) return "I/O unit's " + fault;
  }
  return {};
}

void World::collect_forbidden() {
  const auto look = [this](std::string_view name, std::uint64_t value) {
    if (value == 0 || std::ranges::find(kForbidden, name) == kForbidden.end()) return;
    forbidden_.push_back(std::string(name) + " = " + std::to_string(value));
  };
  host->visit_counters(look);
  if (!hostile) iou->visit_counters(look);
  for (const auto& s : iou->hosts()) {
    if (s->identity().node().eui64 != host_eui64_) continue;
    s->connection().visit_counters(look);
    s->stats().counters.visit(look);
  }
}

std::vector<std::string> World::violations() const {
  std::vector<std::string> all = to_lan.violations();
  all.insert(all.end(), to_host.violations().begin(), to_host.violations().end());
  all.insert(all.end(), forbidden_.begin(), forbidden_.end());
  World& self = const_cast<World&>(*this);
  const std::size_t before = forbidden_.size();
  self.collect_forbidden();
  all.insert(all.end(), forbidden_.begin() + static_cast<std::ptrdiff_t>(before), forbidden_.end());
  self.forbidden_.resize(before);
  // With two hosts another frame may follow one that the LAN port refused.
  const std::uint64_t changed = tap.changed_frames() + (hostile ? 0 : lan.changed_frames());
  if (changed > 0) all.push_back("a held frame was changed");
  if (!quiet()) return all;
  if (auto fault = host_canary_.check(); !fault.empty()) all.push_back("host: " + fault);
  if (auto fault = iou_canary_.check(); !fault.empty()) all.push_back("I/O unit: " + fault);
  return all;
}

std::uint64_t World::trace_hash() const {
  std::uint64_t hash = hash_ ^ to_lan.taken() ^ (to_host.taken() << 32);
  const auto add = [&](std::string_view, std::uint64_t v) { hash = (hash ^ v) * 0x100000001B3ULL; };
  host->visit_counters(add);
  iou->visit_counters(add);
  for (const fabric::FaultUnderlay* path : {host_path_.get(), iou_path_.get()}) {
    add("seen", path->counts().seen);
    add("lost", path->counts().lost);
  }
  return hash;
}

std::uint64_t World::counter(std::string_view name) const {
  support::CounterSum sum(name);
  host->visit_counters(sum.visitor());
  iou->visit_counters(sum.visitor());
  return sum.value();
}

}  // namespace splitnic::sim
