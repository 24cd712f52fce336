#include "conformance/played_switch.h"

#include <algorithm>

#include "base/crc32c.h"

namespace splitnic::conformance {

using fabric::Smp;
using fabric::SmpAttribute;
using fabric::SmpMethod;
using fabric::SmpStatus;
using fabric::SmpTable;

SmpTable OwnedSmp::table() const {
  SmpTable out;
  static_cast<void>(fabric::parse_smp_table(body, out));
  return out;
}

ByteVector OwnedSmp::bytes() const {
  const Smp whole = view();
  ByteVector out(whole.bytes());
  fabric::emit_smp(out, whole);
  return out;
}

PlayedPort* PlayedSwitch::find(std::uint8_t number) {
  const auto at = std::ranges::find(ports, number, &PlayedPort::number);
  return at == ports.end() ? nullptr : &*at;
}

const PlayedPort* PlayedSwitch::find(std::uint8_t number) const {
  const auto at = std::ranges::find(ports, number, &PlayedPort::number);
  return at == ports.end() ? nullptr : &*at;
}

void PlayedSwitch::change(std::uint8_t port, PlayedPort::State state) {
  PlayedPort* const at = find(port);
  if (at == nullptr || at->state == state) return;
  at->state = state;
  ++changes;
}

bool PlayedSwitch::has_held_port() const {
  return std::ranges::any_of(
      ports, [](const PlayedPort& port) { return port.state == PlayedPort::State::kHeld; });
}

std::uint32_t PlayedSwitch::check_of(const Table& table) { return base::crc32c(table); }

fabric::SmpNode PlayedSwitch::node() const {
  fabric::SmpNode out;
  out.lid = lid;
  out.name = name;
  out.changes = changes;
  out.eui64 = eui64;
  out.check = check();
  for (const PlayedPort& port : ports) {
    out.ports.at(out.port_count++) = {port.number, port.state, port.lid, port.eui64};
  }
  return out;
}

fabric::SmpLoad PlayedSwitch::load() {
  fabric::SmpLoad out;
  for (PlayedPort& port : ports) {
    port.cells += port.number;
    out.ports.at(out.port_count++) = {port.number, port.cells};
  }
  return out;
}

OwnedSmp PlayedSwitch::serve(const Smp& request) {
  OwnedSmp reply;
  reply.smp.method = SmpMethod::kReply;
  reply.smp.attribute = request.attribute;
  reply.smp.transaction = request.transaction;
  reply.smp.route = request.route.reversed();
  if (request.attribute == SmpAttribute::kManager && request.method == SmpMethod::kSet) {
    reply.smp.status = set_manager(request);
  } else if (request.attribute == SmpAttribute::kNode && request.method == SmpMethod::kGet) {
    const fabric::SmpNode mine = node();
    reported_changes = changes;
    reply.body.resize(mine.bytes());
    fabric::emit_smp_node(reply.body, mine);
  } else if (request.attribute == SmpAttribute::kLoad && request.method == SmpMethod::kGet) {
    const fabric::SmpLoad mine = load();
    reply.body.resize(mine.bytes());
    fabric::emit_smp_load(reply.body, mine);
  } else if (request.attribute == SmpAttribute::kTable) {
    SmpTable part, out;
    static_cast<void>(fabric::parse_smp_table(request.body, part));
    out.input = part.input;
    out.block = part.block;
    out.stage = part.stage;
    if (request.method == SmpMethod::kGet) {
      out.ports =
          base::Bytes(table).subspan(part.block * fabric::kSmpBlockLids, fabric::kSmpBlockLids);
    } else if (manager.lid == fabric::Lid() || manager != request.manager) {
      reply.smp.status = SmpStatus::kRefused;
    } else {
      reply.smp.status = set_part(part);
    }
    out.check = check();
    reply.body.resize(out.bytes());
    fabric::emit_smp_table(reply.body, out);
  } else {
    reply.smp.status = SmpStatus::kBad;
  }
  reply.smp.manager = manager;
  return reply;
}

SmpStatus PlayedSwitch::set_manager(const Smp& request) {
  const bool has_better = manager.lid != fabric::Lid() && manager.lid != request.manager.lid &&
                          fabric::is_better(manager, request.manager);
  if (has_better) return SmpStatus::kRefused;
  manager = request.manager;
  to_manager = request.route.reversed();
  return SmpStatus::kDone;
}

SmpStatus PlayedSwitch::set_part(const SmpTable& part) {
  const bool sets = part.stage == SmpTable::Stage::kSet;
  if (sets && part.changes != changes) return SmpStatus::kStale;
  const auto is_of = [&](const SmpTable& other) {
    return other.stage == part.stage && other.parts == part.parts &&
           other.changes == part.changes && other.check == part.check;
  };
  if (!staged_ || !is_of(staged_->about)) {
    staged_ = Staged{};
    staged_->about = part;
    staged_->about.ports = {};
  }
  std::ranges::copy(part.ports, staged_->table.begin() + static_cast<std::ptrdiff_t>(
                                                             part.block * fabric::kSmpBlockLids));
  staged_->has.set(part.block);
  if (staged_->has.count() < part.parts) return SmpStatus::kDone;
  const Table complete = std::move(staged_->table);
  staged_.reset();
  if (check_of(complete) != part.check) return SmpStatus::kStale;
  table = complete;
  if (!sets) return SmpStatus::kDone;
  ++tables_set;
  for (PlayedPort& port : ports) {
    if (port.state == PlayedPort::State::kHeld) port.state = PlayedPort::State::kUp;
  }
  return SmpStatus::kDone;
}

}  // namespace splitnic::conformance
