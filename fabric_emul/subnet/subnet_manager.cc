#include "fabric_emul/subnet/subnet_manager.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "fabric_emul/subnet/routes.h"

namespace splitnic::fabric {
namespace {

constexpr const char* kSameFile = ": give all switches the same file";

}  // namespace

SubnetManager::SubnetManager(Topology topology, const std::string& name, std::uint8_t priority,
                             SubnetAgent& agent, base::Random& random)
    : file_(std::move(topology)),
      name_(name),
      id_{agent.of().plan().lid, priority},
      settings_(file_),
      agent_(agent),
      view_(file_),
      transaction_(random.next()),
      nodes_(id_, agent, random.next()) {
  CHECK(view_.find(name_) != nullptr);
  for (auto& [of, tables] : routes_of(file_)) {
    const std::uint32_t check = check_of(tables);
    in_force_[of] = {check, std::move(tables)};
  }
  agent_.set_manager_here(this);
}

void SubnetManager::step(base::Time now) {
  now_ = now;
  for (bool made_progress = true; made_progress;) {
    made_progress = take_replies();
    repeat();
    const bool is_complete = std::ranges::none_of(targets_, &Target::is_waiting);
    if (phase_ != Phase::kIdle && is_complete) {
      advance();
      made_progress = true;
    }
  }
  if (phase_ == Phase::kIdle && now_ >= next_sweep_at()) begin_sweep();
  nodes_.step(now_);
}

// A sweep that has begun would mix the parts of both.
void SubnetManager::set_policy(const Topology& topology) {
  settings_.set_policy(topology);
  if (phase_ == Phase::kSweep) end_round();
  has_changed_ = true;
}

base::Time SubnetManager::next_sweep_at() const {
  return has_changed_ ? std::min(sweep_at_, begun_at_ + kSweepGapMin) : sweep_at_;
}

base::Time SubnetManager::deadline() const {
  base::Time at = nodes_.deadline();
  if (phase_ == Phase::kIdle) return std::min(at, next_sweep_at());
  for (const Target& target : targets_) {
    if (target.reply) return now_;
    if (target.request.is_waiting()) at = std::min(at, target.request.repeat_at());
  }
  return at;
}

void SubnetManager::on_smp(const Smp& smp) {
  if (smp.method == SmpMethod::kTrap) {
    has_changed_ = true;
    return;
  }
  if (nodes_.on_smp(smp)) return;
  const auto target = std::ranges::find_if(
      targets_, [&](const Target& one) { return !one.reply && one.request.is_reply(smp); });
  if (target == targets_.end()) return;
  target->reply_body.assign(smp.body.begin(), smp.body.end());
  target->reply = smp;
  target->reply->body = target->reply_body;
}

// Sweep.

void SubnetManager::begin_sweep() {
  agent_.counters().add(SubnetCounter::kSweep);
  begun_at_ = now_;
  sweep_at_ = now_ + kSweepEvery;
  has_changed_ = has_whole_view_ = false;
  phase_ = Phase::kSweep;
  view_.clear();
  targets_.clear();
  add_target(view_.find(name_), {});
}

void SubnetManager::add_target(const Topology::Switch* is, const SmpRoute& route) {
  if (std::ranges::find(targets_, is, &Target::is) != targets_.end()) return;
  Target target;
  target.is = is;
  target.route = route;
  targets_.push_back(std::move(target));
  request(targets_.back());
}

// A switch first obeys, so that no other manager changes what it reports then. LIDs of nodes come
// before NODE, which has those of the nodes at its ports, and no switch that lacks its partitions
// is part of what is up.
void SubnetManager::take_sweep_reply(Target& target, const Smp& reply) {
  if (reply.status != SmpStatus::kDone) return on_sweep_status(target, reply);
  if (target.step == Step::kManager) return ask_setting(target, 0);
  if (target.step == Step::kNode) return take_node_reply(target, reply);
  take_setting_reply(target, reply);
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
        " that its topology file does not have" + kSameFile);
  }
}

// Reads what the switch has of this setting; behind the last one it asks for NODE.
void SubnetManager::ask_setting(Target& target, std::size_t number) {
  target.setting = number;
  target.step = number < settings_.attributes().size() ? Step::kGetSetting : Step::kNode;
  request(target);
}

// A switch that has not taken what it should have is not part of what is up.
void SubnetManager::take_setting_reply(Target& target, const Smp& reply) {
  const SmpAttribute attribute = attribute_of(target);
  const auto is_right = settings_.is_in_force(attribute, target.is->name, reply.body);
  if (!is_right) return;
  if (*is_right) return ask_setting(target, target.setting + 1);
  const bool is_first = std::exchange(target.step, Step::kSetSetting) == Step::kGetSetting;
  target.part = is_first ? 0 : target.part + 1;
  if (target.part < settings_.parts(attribute, target.is->name)) request(target);
}

void SubnetManager::take_node_reply(Target& target, const Smp& reply) {
  SmpNode node;
  if (parse_smp_node(reply.body, node) != SmpError::kNone) return;
  node.is_cut_off = reply.is_cut_off;
  view_.on_report(*target.is, node);
  if (silent_.erase(target.is->name) + unfit_.erase(target.is->name) != 0) {
    base::log_info("switch " + target.is->name + " replies to the subnet manager");
  }
  SmpRoute route = target.route;
  if (route.hops == kSmpHopsMax) return;
  ++route.hops;
  for (const SubnetView::Neighbour& next : view_.neighbours_of(target.is->name)) {
    route.ports[route.hops - 1U] = next.port;
    add_target(next.is, route);  // the target may be elsewhere now
  }
}

bool SubnetManager::has_held_port(const Target& target) const {
  return std::ranges::any_of(view_.report_of(target.is->name)->used_ports(), [](const auto& port) {
    return port.state == SmpNode::PortState::kHeld;
  });
}

// Switches that did not reply are not in what is up: no entry leads to them.
void SubnetManager::end_sweep() {
  has_whole_view_ = true;
  become_master();
  if (nodes_.wants_update() || view_.lacks_lids() || view_.reports() != last_) {
    NodeSetup::Routes routes;
    for (const Target& target : targets_) routes[target.is->name] = target.route;
    nodes_.update(view_, routes, now_);
    last_ = view_.reports();
  }
  if (view_.reports() == settled_ || view_.has_same_tables(settled_)) {
    settled_ = view_.reports();
    return end_round();
  }
  std::erase_if(targets_,
                [&](const Target& target) { return view_.report_of(target.is->name) == nullptr; });
  auto tables = routes_of(view_.up(), view_.stand_ins());
  std::erase_if(targets_, [&](Target& target) {
    const std::uint32_t check = check_of(tables[target.is->name]);
    if (check == view_.report_of(target.is->name)->check && !has_held_port(target)) {
      in_force_[target.is->name] = {check, std::move(tables[target.is->name])};
      return true;
    }
    target.next = {check, std::move(tables[target.is->name])};
    return false;
  });
  if (targets_.empty()) {
    settled_ = view_.reports();
    return end_round();
  }
  agent_.counters().add(SubnetCounter::kRound);
  if (!begin(Phase::kRead)) advance();
}

// Tables.

// Returns false if there is nothing to do.
bool SubnetManager::begin(Phase phase) {
  phase_ = phase;
  for (Target& target : targets_) {
    const SmpNode& node = *view_.report_of(target.is->name);
    Tables& in_force = in_force_[target.is->name];
    bool is_due = true;
    if (phase == Phase::kRead) {
      is_due = in_force.check != node.check && target.next.check != node.check;
      if (is_due) in_force = {node.check, ForwardingTables(file_.tables_per)};
      if (target.next.check == node.check) in_force = target.next;
    } else if (phase == Phase::kClear) {
      Tables common;
      common.ports = common_of(in_force.ports, target.next.ports);
      common.check = check_of(common.ports);
      is_due = common.check != in_force.check;
      common_[target.is->name] = std::move(common);
    } else {
      is_due = in_force.check != target.next.check || has_held_port(target);
    }
    target.part = 0;
    target.parts.clear();
    if (is_due) target.parts = parts_of(file_, target.is->name);
    if (is_due) request(target);
  }
  return std::ranges::any_of(targets_, &Target::is_waiting);
}

void SubnetManager::advance() {
  switch (phase_) {
    case Phase::kSweep:
      return end_sweep();
    case Phase::kRead:
      if (begin(Phase::kClear)) return;
      [[fallthrough]];
    case Phase::kClear:
      if (begin(Phase::kSet)) return;
      [[fallthrough]];
    case Phase::kSet:
      return end_round();
    case Phase::kIdle:
      return;
  }
}

void SubnetManager::end_round() {
  phase_ = Phase::kIdle;
  targets_.clear();
}

const SubnetManager::Tables& SubnetManager::tables_of(const Target& target) const {
  return phase_ == Phase::kClear ? common_.at(target.is->name) : target.next;
}

// Each reply has the check value of the table in force: after the last part that of this one.
void SubnetManager::take_table_reply(Target& target, const Smp& reply) {
  SmpTable part;
  // A switch that has been started again has no manager yet.
  if (reply.status == SmpStatus::kRefused && reply.manager.lid != Lid()) {
    return stand_by(reply.manager);
  }
  if (reply.status == SmpStatus::kBad && refusing_.insert(target.is->name).second) {
    base::log_warn("switch " + target.is->name +
                   " rejects tables that its topology file does not allow" + kSameFile);
  }
  if (reply.status != SmpStatus::kDone || parse_smp_table(reply.body, part) != SmpError::kNone ||
      TablePart{part.input, part.block} != target.parts[target.part]) {
    return sweep_again();
  }
  Tables& in_force = in_force_[target.is->name];
  if (phase_ == Phase::kRead) {
    if (part.ports.empty()) return sweep_again();
    set_block(in_force.ports.of(part.input), part.block, part.ports);
  }
  if (++target.part < target.parts.size()) return request(target);
  if (phase_ == Phase::kRead) return;
  if (part.check != tables_of(target).check) return sweep_again();
  refusing_.erase(target.is->name);
  in_force = tables_of(target);
}

// Requests.

void SubnetManager::request(Target& target) {
  Smp smp;
  smp.manager = id_;
  smp.method = method_of(target);
  smp.attribute = attribute_of(target);
  smp.transaction = ++transaction_;
  smp.route = target.route;
  Body body;
  smp.body = write_body(target, body);
  target.request.start(smp, agent_, now_);
}

SmpAttribute SubnetManager::attribute_of(const Target& target) const {
  if (phase_ != Phase::kSweep) return SmpAttribute::kTable;
  if (target.step == Step::kManager) return SmpAttribute::kManager;
  if (target.step == Step::kNode) return SmpAttribute::kNode;
  return settings_.attributes().at(target.setting);
}

SmpMethod SubnetManager::method_of(const Target& target) const {
  const bool is_of_sweep = phase_ == Phase::kSweep;
  const bool sets = is_of_sweep ? target.step == Step::kManager || target.step == Step::kSetSetting
                                : phase_ != Phase::kRead;
  return sets ? SmpMethod::kSet : SmpMethod::kGet;
}

base::Bytes SubnetManager::write_body(const Target& target, Body& out) const {
  if (phase_ == Phase::kSweep) {
    const SmpAttribute attribute = attribute_of(target);
    std::size_t bytes = 0;
    if (target.step == Step::kGetSetting) bytes = SwitchSettings::write_get(attribute, out);
    if (target.step == Step::kSetSetting)
      bytes = settings_.write_part(attribute, target.is->name, target.part, out);
    return base::Bytes(out).first(bytes);
  }
  SmpTable part;
  part.input = target.parts[target.part].input;
  part.block = target.parts[target.part].block;
  TableBlock ports;
  if (phase_ != Phase::kRead) {
    part.stage = phase_ == Phase::kClear ? SmpTable::Stage::kClear : SmpTable::Stage::kSet;
    part.parts =
        static_cast<std::uint8_t>(std::ranges::count(target.parts, kNoInput, &TablePart::input));
    part.changes = view_.report_of(target.is->name)->changes;
    part.check = tables_of(target).check;
    ports = block_of(tables_of(target).ports.of(part.input), part.block);
    part.ports = ports;
  }
  return base::Bytes(out).first(emit_smp_table(out, part));
}

bool SubnetManager::take_replies() {
  bool has_taken = false;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (!targets_[i].reply) continue;
    has_taken = true;
    take_reply(targets_[i]);
  }
  return has_taken;
}

void SubnetManager::take_reply(Target& target) {
  Smp reply = *std::exchange(target.reply, std::nullopt);
  const std::vector<std::byte> body = std::exchange(target.reply_body, {});
  reply.body = body;
  target.request.stop();
  if (phase_ == Phase::kSweep) return take_sweep_reply(target, reply);
  take_table_reply(target, reply);
}

void SubnetManager::repeat() {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (!targets_[i].reply && !targets_[i].request.repeat(agent_, now_)) on_silent(targets_[i]);
  }
}

void SubnetManager::on_silent(const Target& target) {
  if (silent_.insert(target.is->name).second) {
    base::log_warn("switch " + target.is->name + " does not reply to the subnet manager");
  }
  if (phase_ != Phase::kSweep) sweep_again();
}

// Something is not as the sweep has found it.
void SubnetManager::sweep_again() {
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
  nodes_.stop();
  end_round();
}

void SubnetManager::become_master() {
  if (std::exchange(is_master_, true)) return;
  stands_by_ = false;
  base::log_info("this switch manages the subnet");
}

}  // namespace splitnic::fabric
