#include "fabric_emul/switching/switch.h"

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/routing/lane_layers.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/global_cell.h"

namespace splitnic::fabric {

Switch::Switch(SwitchPlan plan, base::Random& random)
    : plan_(std::move(plan)), tables_(plan_.tables), random_(random) {}
Switch::~Switch() = default;

Port& Switch::add_port(std::uint8_t number, Underlay& underlay, PortConfig config,
                       const PeerAddress* to, base::Time now) {
  CHECK(!plan_.ports.at(number).peer.empty() && by_number_.at(number) == nullptr);
  now_ = now;
  config.listens = to == nullptr;
  have_credits_ |= profile_of(config) == LinkProfile::kFull;
  ports_.push_back(std::make_unique<SwitchPort>(number, plan_, underlay, std::move(config), random_,
                                                counters_, now_, have_credits_));
  SwitchPort& port = *ports_.back();
  by_number_.at(number) = &port;
  if (to != nullptr) port.connect(*to);
  return port.port();
}

// Another input is read first each time: room at an output is often less than all inputs have.
bool Switch::step(base::Time now) {
  now_ = now;
  bool made_progress = false;
  for (const auto& port : ports_) drain(*port, made_progress);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    made_progress |= receive(*ports_[(first_ + i) % ports_.size()], now);
  }
  first_ = ports_.empty() ? 0 : (first_ + 1) % ports_.size();
  for (const auto& port : ports_) {
    port->port().on_time(now);
    port->port().flush(now);
  }
  return made_progress;
}

// The inputs that wait for a lane of this output are read once it is empty, one batch of each.
void Switch::drain(SwitchPort& to, bool& made_progress) {
  const unsigned before = to.waiting_lanes();
  if (before == 0) return to.port().flush(now_);
  made_progress |= to.drain();
  const unsigned emptied = before & ~to.waiting_lanes();
  made_progress |= emptied != 0;
  for (std::size_t lane = 0; lane < kSwitchLanes; ++lane) {
    if ((emptied >> lane & 1U) == 0) continue;
    on_empty(to.number(), lane);
    if (global_receiver_ != nullptr) global_receiver_->on_empty(to.number(), lane);
  }
}

void Switch::on_empty(std::uint8_t output, std::size_t lane) {
  for (const auto& port : ports_) port->on_empty(output, lane);
}

// An input reads one batch at a time while all outputs that it feeds take it.
bool Switch::receive(SwitchPort& from, base::Time now) {
  bool made_progress = false;
  for (unsigned i = 0; i < kBatchesPerPort && from.may_read(); ++i) {
    const bool has_received =
        from.port().receive(now, 1, [&](Link& link, std::span<const ReceivedCell> cells) {
          from.on_received(cells.size());
          counters_.add(SwitchCounter::kRxCell, cells.size());
          for (const ReceivedCell& cell : cells) on_cell(from, link, cell);
        });
    if (!has_received) break;
    made_progress = true;
  }
  return made_progress;
}

// In this order: CRC, version, held, source, partition, lane, destination, partition there.
void Switch::on_cell(SwitchPort& from, Link& link, const ReceivedCell& cell) {
  if (check_cell_crc(cell.bytes, cell.crc_head_only) != CellError::kNone) {
    return counters_.add(SwitchCounter::kDropCrc);
  }
  const auto header = header_of(cell.bytes);
  if (!header) return counters_.add(SwitchCounter::kDropVersion);
  if (from.is_held() && !is_smp(cell, *header)) return counters_.add(SwitchCounter::kDropDown);
  // A node sends SMPs from no LID and in no partition: it may have none yet.
  if (from.plan().is_node() && header->slid == Lid() && is_smp(cell, *header)) {
    return on_mgmt(from, link, cell, *header);
  }
  if (from.plan().is_node() && !may_send(from.plan(), cell, *header)) {
    return counters_.add(SwitchCounter::kDropSource);
  }
  if (!from.partitions().accepts(header->partition)) {
    return counters_.add(SwitchCounter::kDropPartition);
  }
  // MGMT leaves on the lane without credits, whatever lane it came by.
  if (cell.blocks != 0) {
    const bool is_mgmt = header->service == Service::kMgmt;
    if (cell.vl == kMgmtLane && !is_mgmt) return counters_.add(SwitchCounter::kDropLane);
    if (is_mgmt && !from.may_manage()) return counters_.add(SwitchCounter::kDropMgmtRate);
  }
  SwitchPort* to = output_of(header->dlid, from.number());
  if (is_for_router(*header, to)) return global_receiver_->on_global(*this, from, cell, *header);
  if (header->dlid == plan_.lid && (to == nullptr || !has_gnh(*header))) {
    return on_mgmt(from, link, cell, *header);
  }
  if (to == &from) return counters_.add(SwitchCounter::kDropSamePort);
  pass(from, to, cell, *header);
}

// With each of its LIDs, but a node begins links with its base LID: to its peers it is one,
// whatever they count by the LID.
bool Switch::may_send(const SwitchPlan::Port& node, const ReceivedCell& cell,
                      const MacHeader& header) {
  if (node.lid == Lid()) return false;
  if (header.slid == node.lid) return true;
  if (!node.lids().has(header.slid)) return false;
  if (has_gnh(header)) return false;  // its network address is that of the base
  const auto datagram = payload_of_path_cell(cell.bytes, kPathQpn, cell.crc_head_only);
  return !datagram || !begins_a_link(*datagram);
}

// A link that is held carries nothing else, in either direction [P-SUBN-9].
bool Switch::is_smp(const ReceivedCell& cell, const MacHeader& header) const {
  return header.dlid == plan_.lid && !has_gnh(header) &&
         payload_of_path_cell(cell.bytes, kSubnetQpn, cell.crc_head_only).has_value();
}

// The table of a subnet manager leads to a stand-in by the LID of a router that is down or cut off;
// the stand-in has no entry for it, nor has a router for itself.
bool Switch::is_for_router(const MacHeader& header, const SwitchPort* to) const {
  return to == nullptr && global_receiver_ != nullptr && has_gnh(header) &&
         (header.dlid == plan_.lid || plan_.network->routers.contains(header.dlid));
}

void Switch::pass(SwitchPort& from, SwitchPort* to, const ReceivedCell& cell,
                  const MacHeader& header) {
  if (to == nullptr) return counters_.add(SwitchCounter::kDropLid);
  if (!to->partitions().forwards(header.partition)) {
    return counters_.add(SwitchCounter::kDropPartition);
  }
  if (!to->carries()) return counters_.add(SwitchCounter::kDropDown);
  const std::size_t lane = lane_of(from, *to, cell, header);
  to->put(from, cell, lane);
}

std::size_t Switch::lane_of(const SwitchPort& from, const SwitchPort& to, const ReceivedCell& cell,
                            const MacHeader& header) const {
  if (header.service == Service::kMgmt) return kManagement;
  if (plan_.layers_lanes) {
    return in_layer(plan_.lanes.at(header.sl), layer_of_cell(from, to, cell));
  }
  // The sender names the lane of the flit: one that is no data lane gives way to the table.
  return plan_.pins_vl && cell.vl < kDataLanes ? cell.vl : plan_.lanes.at(header.sl);
}

// Cells from a node or from another subnet of the router begin in the first layer, whatever their
// lane was.
std::uint8_t Switch::layer_of_cell(const SwitchPort& from, const SwitchPort& to,
                                   const ReceivedCell& cell) const {
  const bool is_of_cable = !from.plan().is_node() && by_number_.at(from.number()) == &from;
  if (!is_of_cable || cell.vl >= kDataLanes) return 0;
  const bool dips = !to.plan().is_node() && dips_at(plan_.lid, from.plan().lid, to.plan().lid);
  return dips ? layer_behind_dip(layer_of(cell.vl)) : layer_of(cell.vl);
}

void Switch::on_mgmt(SwitchPort& from, Link& link, const ReceivedCell& cell,
                     const MacHeader& header) {
  const auto smp = payload_of_path_cell(cell.bytes, kSubnetQpn, cell.crc_head_only);
  if (smp) return on_smp(from, header.slid, *smp);
  if (!from.may_ask()) return counters_.add(SwitchCounter::kDropMgmtRate);
  Mgmt m;
  const auto payload = payload_of_path_cell(cell.bytes, kSwitchQpn, cell.crc_head_only);
  if (!payload || parse_mgmt(*payload, m) != MgmtError::kNone || !reply(from, link, m, header)) {
    return counters_.add(SwitchCounter::kDropMgmt);
  }
  counters_.add(SwitchCounter::kMgmt);
}

// Each switch on the way of an SMP sends it as its own: so the SLID is that of the cable's other
// end. A node has none in SMPs.
void Switch::on_smp(SwitchPort& from, Lid sender, base::Bytes smp) {
  if (sender != peer_of_smp(from.plan())) return counters_.add(SwitchCounter::kDropSubnet);
  if (from.plan().is_node() && !from.may_ask()) return counters_.add(SwitchCounter::kDropMgmtRate);
  if (smp_receiver_ == nullptr) return counters_.add(SwitchCounter::kDropMgmt);
  counters_.add(SwitchCounter::kMgmt);
  smp_receiver_->on_smp(from.number(), smp);
}

bool Switch::send_smp(std::uint8_t port, base::Bytes smp) {
  SwitchPort* to = port < by_number_.size() ? by_number_.at(port) : nullptr;
  if (to == nullptr || !to->is_up()) return false;
  const bool is_sent =
      path_cell_bytes(smp.size()) <= to->link()->cell_bytes_max() &&
      send_path_cell(*to->link(), plan_.lid, peer_of_smp(to->plan()), kSubnetQpn, smp);
  counters_.add(is_sent ? SwitchCounter::kTxMgmt : SwitchCounter::kTxDropMgmt);
  return is_sent;
}

void Switch::hold_new_links() {
  for (const auto& port : ports_) port->hold_from_now_on();
}

void Switch::set_lids(std::span<const PortLids> lids) {
  CHECK(lids.size() == plan_.nodes.size());
  auto next = lids.begin();
  for (auto& [name, of] : plan_.nodes) of = *next++;
  for (std::uint8_t number = 1; number <= kSwitchPortsMax; ++number) {
    SwitchPlan::Port& port = plan_.ports.at(number);
    if (port.peer.empty() || !port.is_node()) continue;
    const PortLids& now = plan_.nodes.find(port.peer)->second;
    if (port.lids() == now) continue;
    port.lid = now.base;
    port.lmc = now.lmc;
  }
}

bool Switch::may_have(const SwitchPolicy& policy) const {
  const auto is_lane = [](std::uint8_t lane) { return lane < kDataLanes; };
  if (!std::ranges::all_of(policy.lanes, is_lane)) return false;
  std::vector<std::uint8_t> nodes;
  for (std::uint8_t number = 1; number <= kSwitchPortsMax; ++number) {
    const SwitchPlan::Port& port = plan_.ports.at(number);
    if (!port.peer.empty() && port.is_node()) nodes.push_back(number);
  }
  return !policy.has_partitions ||
         std::ranges::equal(nodes, policy.ports, {}, {}, &SwitchPolicy::NodePort::number);
}

void Switch::set_policy(const SwitchPolicy& policy) {
  CHECK(may_have(policy));
  plan_.lanes = policy.lanes;
  for (SwitchPlan::Port& port : plan_.ports) port.partitions.clear();
  for (const SwitchPolicy::NodePort& port : policy.ports)
    plan_.ports.at(port.number).partitions = port.keys;
  plan_.has_policy = true;
  for (const auto& port : ports_) port->take_partitions();
}

bool Switch::lacks_lids(const SwitchPort& port) const {
  return plan_.lids_from == GivenBy::kManager && port.plan().is_node() && port.is_up() &&
         !port.has_taken_lids();
}

void Switch::activate() {
  for (const auto& port : ports_) port->activate();
}

// A switch knows all names of its subnet. Who wants a connection with the switch itself has left
// out to which node. A switch is a full member of all partitions.
bool Switch::reply(const SwitchPort& from, Link& link, const Mgmt& request,
                   const MacHeader& header) {
  Mgmt m;
  m.transaction = request.transaction;
  m.eui64 = link.local_eui64();
  m.instance = link.local_instance();
  m.peer_eui64 = request.eui64;
  m.peer_instance = request.instance;
  std::vector<std::byte> place;
  if (request.kind == MgmtKind::kResolve) {
    m.kind = MgmtKind::kResolved;
    if (request.private_data.empty()) {
      place = place_of(plan_, from.plan().is_node() ? from.plan().lid : header.slid);
    } else if (from.plan().is_node() &&
               base::as_text(request.private_data).starts_with(kOwnLidsName)) {
      place = lids_place_of(plan_, from.plan().lids(), base::as_text(request.private_data));
    } else {
      place = place_of(plan_, request.private_data);
    }
    m.private_data = place;
  } else if (request.kind == MgmtKind::kConnectReq) {
    static constexpr std::string_view kWhy =
        "this is a fabric switch: connect to a node with udp://NAME:1?via=SWITCH:PORT";
    m.kind = MgmtKind::kConnectRej;
    m.reject = MgmtReject::kRefused;
    m.private_data = base::as_bytes(kWhy);
  } else {
    return false;
  }
  const bool is_sent = send_mgmt(link, plan_.lid, header.slid, m, as_full_member(header.partition));
  counters_.add(is_sent ? SwitchCounter::kTxMgmt : SwitchCounter::kTxDropMgmt);
  return true;
}

base::Time Switch::deadline() const {
  base::Time at = base::kNever;
  for (const auto& port : ports_) at = std::min({at, port->port().deadline(), port->retry_at()});
  return at;
}

void Switch::send_bye(base::Time now) {
  for (const auto& port : ports_) port->port().send_bye(now);
}

std::vector<Switch::PortView> Switch::ports() const {
  std::vector<PortView> all;
  for (const auto& port : ports_) {
    all.push_back({port->number(), port->plan(), port->link(), port->is_held(), lacks_lids(*port),
                   port->rx_cells(), port->tx_cells()});
  }
  return all;
}

bool Switch::has_lost_cables() const {
  const auto is_cable = [](const auto& port) { return !port->plan().is_node(); };
  return std::ranges::any_of(ports_, is_cable) &&
         std::ranges::none_of(ports_,
                              [&](const auto& port) { return is_cable(port) && port->is_up(); });
}

bool Switch::is_up() const {
  return std::ranges::any_of(ports_, [](const auto& port) { return port->is_up(); });
}

std::uint64_t Switch::bytes_forwarded() const {
  std::uint64_t bytes = 0;
  for (const auto& port : ports_) bytes += port->tx_bytes();
  return bytes;
}

std::size_t Switch::waiting_cells() const {
  std::size_t cells = 0;
  for (const auto& port : ports_) cells += port->waiting_cells();
  return cells;
}

void Switch::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  for (std::size_t lane = 0; lane < kSwitchLanes; ++lane) {
    std::uint64_t cells = 0;
    for (const auto& port : ports_) cells += port->tx_cells_of(lane);
    const std::size_t vl = lane == kManagement ? kMgmtLane : lane;
    visitor("switch.lane" + std::to_string(vl) + ".tx.cell", cells);
  }
  for (const auto& port : ports_) {
    const std::string name = "switch.port" + std::to_string(port->number());
    visitor(name + ".rx.cell", port->rx_cells());
    visitor(name + ".tx.cell", port->tx_cells());
    port->port().visit_counters(visitor);
  }
}

}  // namespace splitnic::fabric
