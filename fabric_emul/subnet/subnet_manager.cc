#include "fabric_emul/subnet/subnet_manager.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace splitnic::fabric {

SubnetManager::SubnetManager(Topology topology, const std::string& name, std::uint8_t priority,
                             SubnetAgent& agent, base::Random& random)
    : file_(std::move(topology)),
      name_(name),
      id_{agent.of().plan().lid, priority},
      settings_(file_),
      agent_(agent),
      view_(file_),
      requests_(id_, agent, random.next()),
      update_(file_, view_, requests_),
      nodes_(id_, agent, random.next()),
      loads_(id_, agent, random.next()) {
  CHECK(view_.find(name_) != nullptr);
  agent_.set_manager_here(this);
}

void SubnetManager::step(base::Time now) {
  now_ = now;
  for (bool made_progress = true; made_progress;) {
    made_progress = false;
    while (const auto reply = requests_.next_reply()) {
      take_reply(*reply);
      made_progress = true;
    }
    while (const auto silent = requests_.repeat(now_)) on_silent(targets_[*silent]);
    if (phase_ != Phase::kIdle && !requests_.are_waiting()) {
      advance();
      made_progress = true;
    }
  }
  if (phase_ == Phase::kIdle && now_ >= next_sweep_at()) begin_sweep();
  nodes_.step(now_);
  loads_.step(now_);
}

// A sweep that has begun would mix the parts of both.
void SubnetManager::set_policy(const Topology& topology) {
  settings_.set_policy(topology);
  if (phase_ == Phase::kSweep) end_round();
  has_changed_ = true;
}

// A switch that never takes the whole of its table fails each round: from the second one on the gap
// is twice as long each time.
base::Time SubnetManager::next_sweep_at() const {
  if (!has_changed_) return sweep_at_;
  return std::min(sweep_at_, begun_at_ + kSweepGapMin * (1 << std::max(failed_rounds_ - 1, 0)));
}

base::Time SubnetManager::deadline() const {
  const base::Time own = phase_ == Phase::kIdle ? next_sweep_at() : requests_.deadline(now_);
  return std::min({own, nodes_.deadline(), loads_.deadline(now_)});
}

void SubnetManager::on_smp(const Smp& smp) {
  if (smp.method == SmpMethod::kTrap) {
    has_changed_ = true;
    return;
  }
  if (nodes_.on_smp(smp)) return;
  loads_.on_smp(smp);
  requests_.on_smp(smp);
}

// Sweep.

void SubnetManager::begin_sweep() {
  agent_.counters().add(SubnetCounter::kSweep);
  begun_at_ = now_;
  sweep_at_ = now_ + kSweepEvery;
  has_changed_ = has_whole_view_ = false;
  phase_ = Phase::kSweep;
  view_.clear();
  add_target(view_.find(name_), {});
}

void SubnetManager::add_target(const Topology::Switch* is, const SmpRoute& route) {
  if (std::ranges::find(targets_, is, &Target::is) != targets_.end()) return;
  targets_.push_back({.is = is, .route = route});
  request(requests_.add(route));
}

void SubnetManager::request(std::size_t number) {
  const Target& target = targets_[number];
  const SmpAttribute attribute = attribute_of(target);
  const bool sets = target.step == Step::kManager || target.step == Step::kSetSetting;
  std::array<std::byte, kSmpBytesMax> body;
  std::size_t bytes = 0;
  if (target.step == Step::kGetSetting) bytes = SwitchSettings::write_get(attribute, body);
  if (target.step == Step::kSetSetting) {
    bytes = settings_.write_part(attribute, target.is->name, target.part, body);
  }
  requests_.start(number, sets ? SmpMethod::kSet : SmpMethod::kGet, attribute,
                  base::Bytes(body).first(bytes), now_);
}

SmpAttribute SubnetManager::attribute_of(const Target& target) const {
  if (target.step == Step::kManager) return SmpAttribute::kManager;
  if (target.step == Step::kNode) return SmpAttribute::kNode;
  return settings_.attributes().at(target.setting);
}

void SubnetManager::take_reply(const SwitchRequests::Reply& reply) {
  if (phase_ == Phase::kSweep) return take_sweep_reply(reply.from, reply.smp);
  using Outcome = TableUpdate::Outcome;
  const Outcome outcome = update_.on_reply(reply, now_);
  if (outcome == Outcome::kRejected) view_.leave_out(targets_[reply.from].is->name);
  if (outcome == Outcome::kStale || outcome == Outcome::kRejected) sweep_again();
  if (outcome == Outcome::kRefused) stand_by(reply.smp.manager);
}

// A switch first obeys, so that no other manager changes what it reports then. LIDs of nodes come
// before NODE, which has those of the nodes at its ports, and no switch that lacks its partitions
// is part of what is up.
void SubnetManager::take_sweep_reply(std::size_t from, const Smp& reply) {
  if (reply.status != SmpStatus::kDone) return on_sweep_status(targets_[from], reply);
  const Step step = targets_[from].step;
  if (step == Step::kManager) return ask_setting(from, 0);
  if (step == Step::kNode) return take_node_reply(from, reply);
  take_setting_reply(from, reply);
}

// Such a switch is not part of what is up. One that has been started again in this sweep has no
// manager yet.
void SubnetManager::on_sweep_status(const Target& target, const Smp& reply) {
  if (reply.status == SmpStatus::kRefused) {
    if (reply.manager.lid != Lid()) return stand_by(reply.manager);
    has_changed_ = true;
  } else if (unfit_.insert(target.is->name).second) {
    const bool is_manager = target.step == Step::kManager;
    base::log_warn(
        "switch " + target.is->name + " rejects " +
        (is_manager ? "a subnet manager" : SwitchSettings::text_of(attribute_of(target))) +
        " that its topology file does not have" + kGiveTheSameFile);
  }
}

// Reads what the switch has of this setting; behind the last one it asks for NODE.
void SubnetManager::ask_setting(std::size_t of, std::size_t setting) {
  Target& target = targets_[of];
  target.setting = setting;
  target.step = setting < settings_.attributes().size() ? Step::kGetSetting : Step::kNode;
  request(of);
}

// A switch that has not taken what it should have is not part of what is up.
void SubnetManager::take_setting_reply(std::size_t from, const Smp& reply) {
  Target& target = targets_[from];
  const SmpAttribute attribute = attribute_of(target);
  const auto is_right = settings_.is_in_force(attribute, target.is->name, reply.body);
  if (!is_right) return;
  if (*is_right) return ask_setting(from, target.setting + 1);
  const bool is_first = std::exchange(target.step, Step::kSetSetting) == Step::kGetSetting;
  target.part = is_first ? 0 : target.part + 1;
  if (target.part < settings_.parts(attribute, target.is->name)) request(from);
}

void SubnetManager::take_node_reply(std::size_t from, const Smp& reply) {
  SmpNode node;
  if (parse_smp_node(reply.body, node) != SmpError::kNone) return;
  const Topology::Switch& is = *targets_[from].is;
  node.is_cut_off = reply.is_cut_off;
  view_.on_report(is, node);
  if (silent_.erase(is.name) + unfit_.erase(is.name) != 0) {
    base::log_info("switch " + is.name + " replies to the subnet manager");
  }
  SmpRoute route = targets_[from].route;
  if (route.hops == kSmpHopsMax) return;
  ++route.hops;
  for (const SubnetView::Neighbour& next : view_.neighbours_of(is.name)) {
    route.ports[route.hops - 1U] = next.port;
    add_target(next.is, route);
  }
}

void SubnetManager::end_sweep() {
  view_.refuse_copies();
  has_whole_view_ = true;
  become_master();
  if (nodes_.wants_update() || view_.lacks_lids() || view_.reports() != last_) set_up_nodes();
  const bool are_same = view_.reports() == settled_ || view_.has_same_tables(settled_);
  const bool has_begun = !are_same && begin_update();
  // Tables come first. A better manager may have this switch since the sweep began.
  if (agent_.manager() == id_ && loads_.is_due(begun_at_)) read_loads();
  if (has_begun) return;
  settled_ = view_.reports();
  failed_rounds_ = 0;
  end_round();
}

void SubnetManager::set_up_nodes() {
  NodeSetup::Routes routes;
  for (const Target& target : targets_) routes[target.is->name] = target.route;
  nodes_.update(view_, routes, now_);
  last_ = view_.reports();
}

void SubnetManager::read_loads() {
  LoadReader::Routes routes;
  for (const Target& target : targets_) {
    if (view_.report_of(target.is->name) != nullptr) routes[target.is->name] = target.route;
  }
  loads_.read(routes, begun_at_, now_);
}

// Returns false if all switches have the tables that follow.
bool SubnetManager::begin_update() {
  std::vector<const Topology::Switch*> reached;
  for (const Target& target : targets_) reached.push_back(target.is);
  if (!update_.begin(reached, now_)) return false;
  agent_.counters().add(SubnetCounter::kRound);
  phase_ = Phase::kUpdate;
  return true;
}

void SubnetManager::advance() {
  if (phase_ == Phase::kSweep) return end_sweep();
  if (update_.advance(now_)) return;
  failed_rounds_ = 0;
  end_round();
}

void SubnetManager::end_round() {
  phase_ = Phase::kIdle;
  targets_.clear();
  requests_.clear();
}

void SubnetManager::on_silent(const Target& target) {
  if (silent_.insert(target.is->name).second) {
    base::log_warn("switch " + target.is->name + " does not reply to the subnet manager");
  }
  if (phase_ != Phase::kSweep) sweep_again();
}

// Something is not as the sweep has found it.
void SubnetManager::sweep_again() {
  failed_rounds_ = std::min(failed_rounds_ + 1, kFailedRoundsMax);
  end_round();
  has_changed_ = true;
}

void SubnetManager::stand_by(ManagerId master) {
  if (!std::exchange(stands_by_, true) || is_master_) {
    base::log_info("this switch stands by: the subnet manager is LID " +
                   std::to_string(master.lid.value) + " with priority " +
                   std::to_string(master.priority));
  }
  is_master_ = false;
  has_changed_ = false;
  failed_rounds_ = 0;
  nodes_.stop();
  loads_.stop();
  end_round();
}

void SubnetManager::become_master() {
  if (std::exchange(is_master_, true)) return;
  stands_by_ = false;
  base::log_info("this switch manages the subnet");
}

}  // namespace splitnic::fabric
