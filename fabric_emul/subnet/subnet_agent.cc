#include "fabric_emul/subnet/subnet_agent.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/subnet/table_blocks.h"
#include "fabric_emul/wire/smp_load.h"

namespace splitnic::fabric {

SubnetAgent::SubnetAgent(Switch& of, Eui64 eui64)
    : switch_(of), eui64_(eui64), check_(check_of(of.tables())), seen_changes_(changes()) {
  switch_.set_smp_receiver(this);
}

std::uint32_t SubnetAgent::changes() const {
  return static_cast<std::uint32_t>(switch_.counters()[SwitchCounter::kLinkChange]);
}

std::optional<ManagerId> SubnetAgent::manager() const {
  if (manager_ == ManagerId{} || is_silent()) return std::nullopt;
  return manager_;
}

std::uint32_t SubnetAgent::arrivals() const {
  if (switch_.plan().lids_from != GivenBy::kManager) return 0;
  return static_cast<std::uint32_t>(switch_.counters()[SwitchCounter::kNodeUp]);
}

// TRAP repeats until the manager asks for NODE: then it knows. Nodes that come and go make it sweep
// no more often than a TRAP that repeats does.
void SubnetAgent::step(base::Time now) {
  now_ = now;
  if (seen_changes_ != changes()) {
    seen_changes_ = changes();
    traps_left_ = kTraps;
    trap_at_ = now;
  }
  if (std::exchange(seen_arrivals_, arrivals()) != arrivals()) {
    if (traps_left_ == 0) trap_at_ = std::max(now, trap_at_);
    traps_left_ = kTraps;
  }
  if (traps_left_ == 0 || now < trap_at_) return;
  --traps_left_;
  trap_at_ = now + kTrapEvery;
  Smp trap;
  trap.method = SmpMethod::kTrap;
  trap.manager = manager_;
  trap.transaction = seen_changes_;
  if (manager_here_ != nullptr) manager_here_->on_smp(trap);
  trap.route = to_manager_;
  if (trap.route.hops != 0 && send(trap)) counters_.add(SubnetCounter::kTrap);
}

// The switch has counted a change since the last step: its TRAP leaves with the next one.
base::Time SubnetAgent::deadline() const {
  if (seen_changes_ != changes() || seen_arrivals_ != arrivals()) return now_;
  return traps_left_ != 0 ? trap_at_ : base::kNever;
}

bool SubnetAgent::send(Smp smp) {
  smp.hop = 0;
  if (smp.route.hops == 0) {
    take(smp);
    return true;
  }
  if (!may_pass_on(smp)) return false;
  std::array<std::byte, kSmpBytesMax> bytes;
  smp.hop = 1;
  return switch_.send_smp(smp.route.ports[0], base::Bytes(bytes).first(emit_smp(bytes, smp)));
}

void SubnetAgent::on_smp(std::uint8_t port, base::Bytes bytes) {
  Smp smp;
  if (parse_smp(bytes, smp) != SmpError::kNone) return counters_.add(SubnetCounter::kDropFormat);
  if (smp.hop == 0) return counters_.add(SubnetCounter::kDropRoute);
  if (is_node(port) && !is_of_node(smp)) return counters_.add(SubnetCounter::kDropRoute);
  smp.route.ports[smp.hop - 1U] = port;
  if (is_node(port)) on_reply_of_node(port, smp);
  if (smp.hop < smp.route.hops) return pass_on(smp);
  take(smp);
}

bool SubnetAgent::is_node(std::uint8_t port) const {
  return switch_.plan().ports.at(port).is_node();
}

// By the way back of the manager: else one SMP of a node would cross up to 64 cables.
bool SubnetAgent::is_of_node(const Smp& smp) const {
  return smp.method == SmpMethod::kReply && smp.hop == 1 &&
         std::ranges::equal(smp.route.used().subspan(1), to_manager_.used());
}

void SubnetAgent::on_reply_of_node(std::uint8_t port, const Smp& reply) {
  PortLids taken;
  if (reply.attribute != SmpAttribute::kPort) return;
  parse_smp_port(reply.body, taken);  // the SMP was parsed with it
  switch_.set_lids_taken(
      port, reply.status == SmpStatus::kDone && taken == switch_.plan().ports.at(port).lids());
}

// To a node: what the manager that this switch obeys asks of it, and nothing that it would have to
// pass on.
bool SubnetAgent::may_pass_on(const Smp& smp) const {
  if (!is_node(smp.route.ports[smp.hop])) return true;
  return (smp.method == SmpMethod::kGet || smp.method == SmpMethod::kSet) &&
         smp.hop + 1U == smp.route.hops && obeys(smp.manager);
}

void SubnetAgent::pass_on(const Smp& smp) {
  Smp next = smp;
  ++next.hop;
  std::array<std::byte, kSmpBytesMax> bytes;
  const std::size_t size = emit_smp(bytes, next);
  const bool is_sent = may_pass_on(smp) &&
                       switch_.send_smp(smp.route.ports[smp.hop], base::Bytes(bytes).first(size));
  counters_.add(is_sent ? SubnetCounter::kPassed : SubnetCounter::kDropRoute);
}

void SubnetAgent::take(const Smp& smp) {
  if (smp.method == SmpMethod::kGet || smp.method == SmpMethod::kSet) return serve(smp);
  if (manager_here_ == nullptr) return counters_.add(SubnetCounter::kDropRoute);
  counters_.add(SubnetCounter::kForManager);
  manager_here_->on_smp(smp);
}

void SubnetAgent::serve(const Smp& request) {
  std::array<std::byte, kSmpBytesMax> body;
  std::size_t body_bytes = 0;
  Smp reply;
  reply.method = SmpMethod::kReply;
  reply.attribute = request.attribute;
  reply.transaction = request.transaction;
  reply.route = request.route.reversed();
  if (request.attribute == SmpAttribute::kTable) {
    reply.status = serve_table(request, body, body_bytes);
  } else if (request.attribute == SmpAttribute::kManager && request.method == SmpMethod::kSet) {
    reply.status = serve_manager(request);
  } else if (request.attribute == SmpAttribute::kLids) {
    reply.status = serve_lids(request, body, body_bytes);
  } else if (request.attribute == SmpAttribute::kPolicy) {
    reply.status = serve_policy(request, body, body_bytes);
  } else if (request.attribute == SmpAttribute::kNode && request.method == SmpMethod::kGet) {
    body_bytes = serve_node(request, body);
    reply.is_cut_off = switch_.is_cut_off();
  } else if (request.attribute == SmpAttribute::kLoad && request.method == SmpMethod::kGet) {
    body_bytes = serve_load(body);
  } else {
    reply.status = SmpStatus::kBad;
    if (request.attribute == SmpAttribute::kPort) body_bytes = emit_smp_port(body, {});
  }
  reply.manager = manager_;
  reply.body = base::Bytes(body).first(body_bytes);
  counters_.add(SubnetCounter::kServed);
  if (reply.status == SmpStatus::kRefused) counters_.add(SubnetCounter::kRefused);
  send(reply);
}

// A switch of the topology file. Cells need not reach it by its LID: roots of a tree have no routes
// to each other.
bool SubnetAgent::may_manage(Lid lid) const { return switch_.plan().switches.contains(lid); }

SmpStatus SubnetAgent::serve_manager(const Smp& request) {
  if (!may_manage(request.manager.lid)) return SmpStatus::kBad;
  if (request.manager != manager_) {
    const bool has_one = manager_.lid != Lid() && !is_silent();
    // A manager whose priority is another one since its restart replaces itself.
    if (has_one && manager_.lid != request.manager.lid && is_better(manager_, request.manager)) {
      return SmpStatus::kRefused;
    }
    if (manager_.lid == Lid()) switch_.hold_new_links();
    manager_ = request.manager;
    staged_ = {};
    staged_lids_ = {};
    staged_policy_ = {};
    base::log_info("the subnet manager is LID " + std::to_string(manager_.lid.value) +
                   " with priority " + std::to_string(manager_.priority));
  }
  heard_at_ = now_;
  to_manager_ = request.route.reversed();
  return SmpStatus::kDone;
}

std::size_t SubnetAgent::serve_node(const Smp& request, base::MutableBytes body) {
  if (request.manager == manager_) traps_left_ = 0;
  SmpNode node;
  node.lid = switch_.plan().lid;
  node.name = switch_.plan().name;
  node.changes = changes();
  node.eui64 = eui64_;
  node.check = check_;
  for (const Switch::PortView& port : switch_.ports()) {
    SmpNode::PortInfo& info = node.ports[node.port_count++];
    info.number = port.number;
    info.lid = port.plan.lid;
    if (port.link == nullptr) continue;
    info.eui64 = port.link->peer_eui64();
    if (!port.link->up()) continue;
    info.state = port.is_held      ? SmpNode::PortState::kHeld
                 : port.lacks_lids ? SmpNode::PortState::kUnset
                                   : SmpNode::PortState::kUp;
  }
  std::ranges::sort(node.ports.begin(), node.ports.begin() + static_cast<long>(node.port_count), {},
                    &SmpNode::PortInfo::number);
  return emit_smp_node(body, node);
}

std::size_t SubnetAgent::serve_load(base::MutableBytes body) const {
  SmpLoad load;
  for (const Switch::PortView& port : switch_.ports()) {
    load.ports[load.port_count++] = {port.number, port.tx_cells};
  }
  std::ranges::sort(load.ports.begin(), load.ports.begin() + static_cast<long>(load.port_count), {},
                    &SmpLoad::Port::number);
  return emit_smp_load(body, load);
}

SmpStatus SubnetAgent::serve_table(const Smp& request, base::MutableBytes body,
                                   std::size_t& body_bytes) {
  SmpTable part;
  parse_smp_table(request.body, part);  // the SMP was parsed with it
  SmpTable out;
  out.input = part.input;
  out.block = part.block;
  TableBlock ports;
  SmpStatus status = SmpStatus::kDone;
  if (!switch_.plan().has_table(part.input)) {
    status = SmpStatus::kBad;
  } else if (request.method == SmpMethod::kGet) {
    ports = block_of(switch_.tables().of(part.input), part.block);
    out.ports = ports;
  } else if (!obeys(request.manager)) {
    status = SmpStatus::kRefused;
  } else {
    heard_at_ = now_;
    status = set_part(part);
  }
  out.stage = part.stage;
  out.check = check_;
  body_bytes = emit_smp_table(body, out);
  return status;
}

// Everyone may read it, and the manager that this switch obeys may set it.
template <class Set>
SmpStatus SubnetAgent::serve_setting(const Smp& request, GivenBy from, const Set& set) {
  if (from != GivenBy::kManager) return SmpStatus::kBad;
  if (request.method != SmpMethod::kSet) return SmpStatus::kDone;
  if (!obeys(request.manager)) return SmpStatus::kRefused;
  heard_at_ = now_;
  return set();
}

SmpStatus SubnetAgent::serve_lids(const Smp& request, base::MutableBytes body,
                                  std::size_t& body_bytes) {
  SmpLids part;
  parse_smp_lids(request.body, part);  // the SMP was parsed with it
  const SmpStatus status =
      serve_setting(request, switch_.plan().lids_from, [&] { return set_lids(part); });
  SmpLids out;
  if (lids_check_) {
    out.count = static_cast<std::uint16_t>(switch_.plan().nodes.size());
    out.check = *lids_check_;
  }
  body_bytes = emit_smp_lids(body, out);
  return status;
}

// Those in force stay until the switch starts again: nodes, and what their peers know of them, have
// them.
SmpStatus SubnetAgent::set_lids(const SmpLids& part) {
  if (lids_check_) return part.check == *lids_check_ ? SmpStatus::kDone : SmpStatus::kBad;
  const SmpStatus status = staged_lids_.take(part, switch_.plan().nodes);
  if (!staged_lids_.is_complete()) return status;
  switch_.set_lids(staged_lids_.lids());
  staged_lids_ = {};
  lids_check_ = part.check;
  return status;
}

SmpStatus SubnetAgent::serve_policy(const Smp& request, base::MutableBytes body,
                                    std::size_t& body_bytes) {
  SmpPolicy part;
  parse_smp_policy(request.body, part);  // the SMP was parsed with it
  const SmpStatus status =
      serve_setting(request, switch_.plan().policy_from, [&] { return set_policy(part); });
  SmpPolicy out;
  out.count = policy_bytes_;
  out.check = policy_check_;
  body_bytes = emit_smp_policy(body, out);
  return status;
}

SmpStatus SubnetAgent::set_policy(const SmpPolicy& part) {
  if (policy_bytes_ == part.count && policy_check_ == part.check) return SmpStatus::kDone;
  const SmpStatus status = staged_policy_.take(part);
  if (!staged_policy_.is_complete()) return status;
  const StagedPolicy complete = std::exchange(staged_policy_, {});
  SwitchPolicy policy;
  if (!parse_policy(complete.bytes(), policy) || !switch_.may_have(policy)) return SmpStatus::kBad;
  switch_.set_policy(policy);
  policy_bytes_ = part.count;
  policy_check_ = part.check;
  counters_.add(SubnetCounter::kPolicy);
  base::log_info("the subnet manager has set the lanes and partitions of this switch");
  return SmpStatus::kDone;
}

// Each part may come more than once. The tables come into force with the last one, as a whole; the
// ports carry cells by it if no link has changed since the manager has looked.
SmpStatus SubnetAgent::set_part(const SmpTable& part) {
  const bool are_ports_known = std::ranges::all_of(part.ports, [&](std::byte port) {
    const auto number = std::to_integer<std::size_t>(port);
    return number == 0 ||
           (number <= kSwitchPortsMax && !switch_.plan().ports.at(number).peer.empty());
  });
  const bool has_lid_0 = part.block == 0 && part.ports[0] != std::byte{0};  // nobody has it
  if (!are_ports_known || has_lid_0) return SmpStatus::kBad;
  if (part.stage == SmpTable::Stage::kSet && part.changes != changes()) return SmpStatus::kStale;
  if (!staged_.is_of(part)) {
    staged_ = {};
    staged_.stage = part.stage;
    staged_.parts = part.parts;
    staged_.changes = part.changes;
    staged_.check = part.check;
    staged_.tables = ForwardingTables(switch_.tables().per());
  }
  set_block(staged_.tables.of(part.input), part.block, part.ports);
  staged_.has.set(part.input * kSmpBlocksMax + part.block);
  if (staged_.has.count() < staged_.parts * switch_.plan().table_count()) return SmpStatus::kDone;
  const Staged complete = std::exchange(staged_, {});
  if (check_of(complete.tables) != complete.check) return SmpStatus::kStale;
  switch_.set_tables(complete.tables);
  check_ = complete.check;
  counters_.add(SubnetCounter::kTable);
  if (complete.stage == SmpTable::Stage::kSet) switch_.activate();
  return SmpStatus::kDone;
}

}  // namespace splitnic::fabric
