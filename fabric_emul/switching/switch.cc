#include "fabric_emul/switching/switch.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/endian.h"
#include "base/log.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

Switch::Switch(SwitchPlan plan, base::Random& random) : plan_(std::move(plan)), random_(random) {}
Switch::~Switch() = default;

Port& Switch::add_port(std::uint8_t number, Underlay& underlay, PortConfig config,
                       const PeerAddress* to, base::Time now) {
  const SwitchPlan::Port& planned = plan_.ports.at(number);
  CHECK(!planned.peer.empty() && by_number_.at(number) == nullptr);
  CHECK(config.profile != LinkProfile::kFull);
  config.number = number;
  config.listens = to == nullptr;
  config.links_max = 1;
  config.payload_crc = PayloadCrcMode::kOn;  // from end to end, so on every hop
  config.lids = [lids = LinkLids{plan_.lid, planned.lid}](const PeerAddress&) { return lids; };
  const std::size_t inputs = kSwitchPortsMax;
  ends_.push_back(std::make_unique<End>(number, planned, underlay, config, random_,
                                        inputs * kQueueBytesOfPort));
  End& end = *ends_.back();
  by_number_.at(number) = &end;
  if (to != nullptr) end.link = &end.port.connect(*to, now);
  return end.port;
}

bool Switch::step(base::Time now) {
  now_ = now;
  bool made_progress = false;
  for (const auto& end : ends_) made_progress |= drain(*end, now);
  for (const auto& end : ends_) made_progress |= receive(*end, now);
  for (const auto& end : ends_) {
    end->port.on_time(now);
    end->port.flush(now);
  }
  return made_progress;
}

// An input reads one batch at a time while all outputs that it feeds take it.
bool Switch::receive(End& from, base::Time now) {
  bool made_progress = false;
  for (unsigned i = 0; i < kBatchesPerPort; ++i) {
    if (from.waits_for != nullptr && !from.waits_for->queue.empty()) break;
    from.waits_for = nullptr;
    const bool has_received =
        from.port.receive(now, 1, [&](Link& link, std::span<const ReceivedCell> cells) {
          for (const ReceivedCell& cell : cells) on_cell(from, link, cell, now);
        });
    if (!has_received) break;
    made_progress = true;
  }
  return made_progress;
}

// In this order: CRC, version, source, destination.
void Switch::on_cell(End& from, Link& link, const ReceivedCell& cell, base::Time now) {
  counters_.add(SwitchCounter::kRxCell);
  ++from.rx_cells;
  if (check_cell_crc(cell.bytes, cell.crc_head_only) != CellError::kNone) {
    return counters_.add(SwitchCounter::kDropCrc);
  }
  const auto header = header_of(cell.bytes);
  if (!header) return counters_.add(SwitchCounter::kDropVersion);
  if (from.plan.is_node && header->slid != from.plan.lid) {
    return counters_.add(SwitchCounter::kDropSource);
  }
  if (header->dlid == plan_.lid) return on_mgmt(link, cell, header->slid);
  End* to = by_number_.at(plan_.table.port_of(header->dlid));
  if (to == nullptr) return counters_.add(SwitchCounter::kDropLid);
  if (to == &from) return counters_.add(SwitchCounter::kDropSamePort);
  forward(from, *to, cell, now);
}

void Switch::forward(End& from, End& to, const ReceivedCell& cell, base::Time now) {
  if (to.link == nullptr || !to.link->up()) return counters_.add(SwitchCounter::kDropDown);
  if (!fits(to, cell.bytes)) return counters_.add(SwitchCounter::kDropTooLong);
  if (to.queue.empty() && send(to, cell.bytes, cell.vl)) return;
  if (to.queue.empty()) to.waits_since = now;
  counters_.add(SwitchCounter::kWait);
  from.waits_for = &to;
  if (!to.queue.push(cell.bytes, cell.vl)) counters_.add(SwitchCounter::kDropStalled);
}

// A cell beyond the stride is alone in its datagram. That such datagrams do not arrive on a narrow
// hop is for the probes of the path to find, which are as long as its cells.
bool Switch::fits(const End& to, base::Bytes cell) {
  return cell.size() <= to.link->cell_bytes_max();
}

bool Switch::send(End& to, base::Bytes cell, std::uint8_t vl) {
  const base::MutableBytes room = to.link->reserve(cell.size(), vl);
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  to.link->commit(cell.size());
  counters_.add(SwitchCounter::kTxCell);
  ++to.tx_cells;
  bytes_forwarded_ += cell.size();
  return true;
}

bool Switch::drain(End& to, base::Time now) {
  to.port.flush(now);
  if (to.queue.empty()) return false;
  bool made_progress = false;
  while (!to.queue.empty() && to.link->up()) {
    if (!fits(to, to.queue.front())) {
      counters_.add(SwitchCounter::kDropTooLong);  // the path has narrowed
    } else if (!send(to, to.queue.front(), to.queue.front_vl())) {
      break;
    }
    to.queue.pop();
    to.waits_since = now;
    made_progress = true;
  }
  if (!to.link->up()) drop_queue(to, SwitchCounter::kDropDown);
  if (!to.queue.empty() && now - to.waits_since >= kStallMax) {
    drop_queue(to, SwitchCounter::kDropStalled);
  }
  return made_progress;
}

void Switch::drop_queue(End& of, SwitchCounter reason) {
  counters_.add(reason, of.queue.cells());
  of.queue.clear();
}

void Switch::on_mgmt(Link& link, const ReceivedCell& cell, Lid from) {
  Mgmt m;
  const auto payload = payload_of_path_cell(cell.bytes, kSwitchQpn, cell.crc_head_only);
  if (!payload || parse_mgmt(*payload, m) != MgmtError::kNone || !reply(link, m, from)) {
    return counters_.add(SwitchCounter::kDropMgmt);
  }
  counters_.add(SwitchCounter::kMgmt);
}

// A switch knows all names of its subnet. Who wants a connection with the switch itself has left
// out to which node.
bool Switch::reply(Link& link, const Mgmt& request, Lid to) {
  Mgmt m;
  m.transaction = request.transaction;
  m.eui64 = link.local_eui64();
  m.instance = link.local_instance();
  m.peer_eui64 = request.eui64;
  m.peer_instance = request.instance;
  std::array<std::byte, 2> lid{};
  if (request.kind == MgmtKind::kResolve) {
    m.kind = MgmtKind::kResolved;
    const auto node = std::ranges::find_if(plan_.nodes, [&](const Topology::Node& one) {
      return std::ranges::equal(base::as_bytes(one.name), request.private_data);
    });
    if (node != plan_.nodes.end()) {
      base::store_be(lid.data(), node->lid.value);
      m.private_data = lid;
    }
  } else if (request.kind == MgmtKind::kConnectReq) {
    static constexpr std::string_view kWhy =
        "this is a fabric switch: connect to a node with udp://NAME:1?via=SWITCH:PORT";
    m.kind = MgmtKind::kConnectRej;
    m.reject = MgmtReject::kRefused;
    m.private_data = base::as_bytes(kWhy);
  } else {
    return false;
  }
  if (send_mgmt(link, plan_.lid, to, m)) counters_.add(SwitchCounter::kTxMgmt);
  return true;
}

base::Time Switch::deadline() const {
  base::Time at = base::kNever;
  for (const auto& end : ends_) {
    at = std::min(at, end->port.deadline());
    const bool is_blocked = !end->queue.empty() || end->port.wants_write();
    if (is_blocked) at = std::min(at, now_ + kBlockedRetry);
  }
  return at;
}

void Switch::send_bye(base::Time now) {
  for (const auto& end : ends_) end->port.send_bye(now);
}

std::vector<Switch::PortView> Switch::ports() const {
  std::vector<PortView> all;
  for (const auto& end : ends_) {
    all.push_back({end->number, end->plan, end->link, end->rx_cells, end->tx_cells});
  }
  return all;
}

bool Switch::is_up() const {
  return std::ranges::any_of(
      ends_, [](const auto& end) { return end->link != nullptr && end->link->up(); });
}

std::size_t Switch::waiting_cells() const {
  std::size_t cells = 0;
  for (const auto& end : ends_) cells += end->queue.cells();
  return cells;
}

void Switch::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  for (const auto& end : ends_) {
    const std::string port = "switch.port" + std::to_string(end->number);
    visitor(port + ".rx.cell", end->rx_cells);
    visitor(port + ".tx.cell", end->tx_cells);
    end->port.visit_counters(visitor);
  }
}

std::string Switch::End::label() const {
  return "port " + std::to_string(number) + " (" + plan.peer + ")";
}

void Switch::End::on_link_up(Link& up) {
  link = &up;
  base::log_info(label() + ": " + up.peer_name() + " is up");
}

void Switch::End::on_link_down(Link& down, std::string_view why) {
  base::log_warn(label() + ": " + down.peer_name() + " is down: " + std::string(why));
}

void Switch::End::on_refused(Link& by, InitReason reason) {
  base::log_warn(label() + ": " + by.peer_name() +
                 " refuses the link: " + std::string(name(reason)));
}

}  // namespace splitnic::fabric
