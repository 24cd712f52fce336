#include "fabric_emul/subnet/table_update.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "fabric_emul/subnet/routes.h"

namespace splitnic::fabric {
namespace {

bool has_held_port(const SmpNode& node) {
  return std::ranges::any_of(node.used_ports(), [](const SmpNode::PortInfo& port) {
    return port.state == SmpNode::PortState::kHeld;
  });
}

}  // namespace

TableUpdate::TableUpdate(const Topology& file, const SubnetView& view, SwitchRequests& requests)
    : file_(file), view_(view), requests_(requests) {
  for (auto& [of, tables] : routes_of(file_)) {
    const std::uint32_t check = check_of(tables);
    in_force_[of] = {check, std::move(tables)};
  }
}

// Switches that did not reply are not in what is up: no entry leads to them.
bool TableUpdate::begin(const std::vector<const Topology::Switch*>& reached, base::Time now) {
  targets_.clear();
  auto all = routes_of(view_.up(), view_.stand_ins());
  for (std::size_t number = 0; number < reached.size(); ++number) {
    const std::string& name = reached[number]->name;
    const SmpNode* const node = view_.report_of(name);
    if (node == nullptr) continue;
    Tables next{check_of(all[name]), std::move(all[name])};
    if (next.check == node->check && !has_held_port(*node)) {
      in_force_[name] = std::move(next);
    } else {
      targets_.push_back({.is = reached[number], .number = number, .next = std::move(next)});
    }
  }
  if (targets_.empty()) return false;
  start(Stage::kRead, now);
  return true;
}

bool TableUpdate::advance(base::Time now) {
  if (stage_ == Stage::kRead && start(Stage::kClear, now)) return true;
  return stage_ != Stage::kSet && start(Stage::kSet, now);
}

// Returns false if there is nothing to do.
bool TableUpdate::start(Stage stage, base::Time now) {
  stage_ = stage;
  bool has_started = false;
  for (Target& target : targets_) {
    target.part = 0;
    target.parts.clear();
    if (!is_due(target)) continue;
    target.parts = parts_of(file_, *view_.report_of(target.is->name));
    request(target, now);
    has_started = true;
  }
  return has_started;
}

bool TableUpdate::is_due(const Target& target) {
  const SmpNode& node = *view_.report_of(target.is->name);
  Tables& in_force = in_force_[target.is->name];
  if (stage_ == Stage::kRead) {
    const bool is_known = in_force.is_whole && in_force.check == node.check;
    if (target.next.check == node.check) {
      in_force = target.next;
      return false;
    }
    if (!is_known) in_force = {node.check, ForwardingTables(file_.tables_per), false};
    return !is_known;
  }
  if (stage_ == Stage::kClear) {
    Tables common;
    common.ports = common_of(in_force.ports, target.next.ports);
    common.check = check_of(common.ports);
    const bool loses_entries = common.check != in_force.check;
    common_[target.is->name] = std::move(common);
    return loses_entries;
  }
  return in_force.check != target.next.check || has_held_port(node);
}

const TableUpdate::Tables& TableUpdate::tables_of(const Target& target) const {
  return stage_ == Stage::kClear ? common_.at(target.is->name) : target.next;
}

void TableUpdate::request(const Target& target, base::Time now) {
  SmpTable part;
  part.input = target.parts[target.part].input;
  part.block = target.parts[target.part].block;
  TableBlock ports;
  if (stage_ != Stage::kRead) {
    part.stage = stage_ == Stage::kClear ? SmpTable::Stage::kClear : SmpTable::Stage::kSet;
    part.parts =
        static_cast<std::uint8_t>(std::ranges::count(target.parts, kNoInput, &TablePart::input));
    part.changes = view_.report_of(target.is->name)->changes;
    part.check = tables_of(target).check;
    ports = block_of(tables_of(target).ports.of(part.input), part.block);
    part.ports = ports;
  }
  std::array<std::byte, kSmpTableBytes + kSmpBlockLids> body;
  const std::size_t bytes = emit_smp_table(body, part);
  requests_.start(target.number, stage_ == Stage::kRead ? SmpMethod::kGet : SmpMethod::kSet,
                  SmpAttribute::kTable, base::Bytes(body).first(bytes), now);
}

// Each reply has the check value of the table in force: after the last part that of this one.
TableUpdate::Outcome TableUpdate::on_reply(const SwitchRequests::Reply& reply, base::Time now) {
  const auto of = std::ranges::find(targets_, reply.from, &Target::number);
  CHECK(of != targets_.end());
  Target& target = *of;
  if (reply.smp.status != SmpStatus::kDone) return on_status(target, reply.smp);
  SmpTable part;
  if (parse_smp_table(reply.smp.body, part) != SmpError::kNone ||
      TablePart{part.input, part.block} != target.parts[target.part]) {
    return Outcome::kStale;
  }
  Tables& in_force = in_force_[target.is->name];
  if (stage_ == Stage::kRead) {
    if (part.ports.empty() || part.check != in_force.check) return Outcome::kStale;
    set_block(in_force.ports.of(part.input), part.block, part.ports);
  }
  if (++target.part < target.parts.size()) {
    request(target, now);
    return Outcome::kNone;
  }
  if (stage_ == Stage::kRead) {
    in_force.is_whole = true;
    return Outcome::kNone;
  }
  if (part.check != tables_of(target).check) return on_other_check(target, part.check);
  refusing_.erase(target.is->name);
  waiting_.erase(target.is->name);
  in_force = tables_of(target);
  return Outcome::kNone;
}

// A switch that has been started again has no manager yet.
TableUpdate::Outcome TableUpdate::on_status(const Target& target, const Smp& reply) {
  if (reply.status == SmpStatus::kRefused && reply.manager.lid != Lid()) return Outcome::kRefused;
  if (reply.status != SmpStatus::kBad) return Outcome::kStale;
  return reject(target, " rejects tables that its topology file does not allow");
}

// Behind the last part of the only table. A switch that has one for each input waits for the parts
// of the others. A part of an earlier round that comes late looks the same, but not twice in a row.
TableUpdate::Outcome TableUpdate::on_other_check(const Target& target, std::uint32_t check) {
  const std::string& name = target.is->name;
  const bool waits = file_.tables_per == TablesPer::kSwitch && check == in_force_.at(name).check;
  if (!waits) waiting_.erase(name);
  if (!waits || waiting_.insert(name).second) return Outcome::kStale;
  waiting_.erase(name);
  return reject(
      target,
      " waits for more tables than one: its topology file has tables = \"per_input\", and "
      "that of the subnet manager has \"per_switch\"");
}

TableUpdate::Outcome TableUpdate::reject(const Target& target, const std::string& line) {
  if (refusing_.insert(target.is->name).second) {
    base::log_warn("switch " + target.is->name + line + kGiveTheSameFile);
  }
  return Outcome::kRejected;
}

}  // namespace splitnic::fabric
