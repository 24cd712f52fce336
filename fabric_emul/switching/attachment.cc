#include "fabric_emul/switching/attachment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/link/link_refusal.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/queue_lid.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {
namespace {

std::size_t gnh_bytes(Lid to) { return NetworkLayer::is_peer(to) ? kGnhBytes : 0; }

// A LID beyond those of ports stands for a peer in another subnet, here and on no link.
bool may_be_source(Lid lid) { return lid != Lid() && !NetworkLayer::is_peer(lid); }

PortConfig as_hop(PortConfig hop) {
  hop.full.lane_queue_bytes = HopLanes::kBatchesOfLane * kBatchBytesMax;
  hop.uses_fragments = false;
  hop.takes_no_lid = true;
  return hop;
}

// A control datagram in a management cell is as long on the link as one that holds cells: a path
// probe is cut by what surrounds it.
constexpr std::size_t kAround = kFlitHeaderBytes + kMacHeaderBytes + kCrcBytes;

base::Bytes without_surroundings(base::Bytes datagram) {
  constexpr std::size_t kWhole = kFlitHeaderBytes + kInitBytes;
  if (datagram.size() <= kWhole) return datagram;
  return datagram.first(
      std::max(kWhole, (datagram.size() - std::min(datagram.size(), kAround)) & ~std::size_t{3}));
}

}  // namespace

Attachment::Attachment(Underlay& carrier, const PeerAddress& switch_at, const PortConfig& hop,
                       base::Clock& clock, base::Random& random, std::uint32_t queue,
                       PartitionTable partitions, std::string name)
    : UnderlayDecorator(carrier),
      clock_(clock),
      switch_at_(switch_at),
      queue_(queue),
      paths_(std::move(partitions)),
      network_(carried_bytes_max(hop)),
      agent_(std::move(name)),
      port_(carrier, as_hop(hop), random, *this),
      link_(port_.connect(switch_at, clock.now())),
      lanes_(link_),
      resolver_(link_, names_, paths_, network_, counters_) {
  CHECK(!hop.listens);
}

PeerAddress Attachment::peer(const std::string& node, unsigned path) {
  const bool uses_all_paths = path == kAllPaths;
  const std::string name = name_of_path(name_of_queue(node, queue_), uses_all_paths ? 0 : path);
  resolver_.ask_now(clock_.now());
  return names_.add(name, uses_all_paths);
}

std::optional<LinkLids> Attachment::lids_of(const PeerAddress& peer) const {
  const Lid lid = names_.lid_of(peer);
  if (!is_attached() || lid == Lid()) return std::nullopt;
  return LinkLids{own_lid_to(lid), lid};
}

std::string Attachment::name_of(const PeerAddress& peer) const {
  const std::string via = " via " + below_.name_of(switch_at_);
  if (const PeerNames::Named* named = names_.at(peer)) return named->name + via;
  const Lid lid = names_.lid_of(peer);
  if (NetworkLayer::is_peer(lid)) return network_.name_of(lid) + via;
  return "LID " + std::to_string(lid.value) + via;
}

std::size_t Attachment::datagram_bytes_max(const PeerAddress& to) const {
  if (link_.mcp() == 0) return below_.datagram_bytes_max(switch_at_);
  return lanes_.stride() + kSessionReserveBytes - gnh_bytes(names_.lid_of(to));
}

void Attachment::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  port_.visit_counters([&](std::string_view name, std::uint64_t value) {
    visitor("hop." + std::string(name), value);
  });
}

// All of a batch leaves in one batch to the switch, which has the same stride.
Underlay::SendStatus Attachment::send(const PeerAddress& to, base::Bytes bytes,
                                      std::size_t stride) {
  const Lid lid = names_.lid_of(to);
  const bool is_reachable = lid != Lid() && (!NetworkLayer::is_peer(lid) || network_.is_known());
  if (!is_attached() || !is_reachable) {
    counters_.add(AttachmentCounter::kTxDropDown);
    return SendStatus::kRefused;
  }
  if (std::min(stride, bytes.size()) + gnh_bytes(lid) > lanes_.stride())
    return SendStatus::kTooLong;
  const base::Time now = clock_.now();
  flush(now);
  if (!lanes_.take(bytes, stride)) return SendStatus::kBlocked;
  const LinkLids lids{own_lid_to(lid), lid};
  while (!bytes.empty()) {
    const base::Bytes datagram = bytes.first(std::min(stride, bytes.size()));
    bytes = bytes.subspan(datagram.size());
    if (!send_datagram(lids, datagram)) counters_.add(AttachmentCounter::kTxDropBlocked);
  }
  flush(now);
  return SendStatus::kSent;
}

bool Attachment::send_datagram(const LinkLids& lids, base::Bytes datagram) {
  const Lid to = lids.remote;
  FlitWalker walker(datagram);
  FlitView flit;
  while (walker.next(flit) == FlitWalker::Step::kFlit) {
    if (flit.header.type != FlitType::kData) {
      return send_control(lids, datagram);
    }
    if (!send_cell(to, flit)) return false;
    counters_.add(AttachmentCounter::kTxCell);
  }
  return true;
}

bool Attachment::send_cell(Lid to, const FlitView& flit) {
  if (NetworkLayer::is_peer(to)) return send_to_peer(to, flit);
  const base::Bytes cell = flit.payload;
  const base::MutableBytes room = lanes_.reserve(cell.size(), flit.header.vl);
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  link_.commit(room.size());
  return true;
}

bool Attachment::send_to_peer(Lid to, const FlitView& flit) {
  const base::Bytes cell = flit.payload;
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  const CellLids lids{network_.router_to(to), base_lid()};
  const bool has_header = is_datagram(header);
  const base::MutableBytes room =
      lanes_.reserve(cell.size() + (has_header ? 0 : kGnhBytes), flit.header.vl);
  if (room.empty()) return false;
  if (has_header) {
    network_.set_leg(to);
    change_lids(room, cell, lids, link_.crc_head_only());
  } else {
    add_gnh(room, cell, network_.gnh_to(to, header.sl, header.payload_bytes), lids,
            link_.crc_head_only());
  }
  link_.commit(room.size());
  return true;
}

unsigned Attachment::paths_to(Lid peer) const {
  return paths_.count_to(peer, names_.at(peer) != nullptr, clock_.now());
}

// HELLO and ANSWER take the first path, since the peer replies from the LID that they came to.
unsigned Attachment::paths_of_control(Lid peer, base::Bytes datagram) const {
  return begins_a_link(datagram) ? 1 : std::min(paths_to(peer), kUsedPathsMax);
}

// By all paths: one that is lost would be missed, and so would a probe on a path that is silent.
bool Attachment::send_control(const LinkLids& lids, base::Bytes datagram) {
  counters_.add(AttachmentCounter::kTxControl);
  const Lid to = lids.remote;
  const base::Bytes payload = without_surroundings(datagram);
  if (NetworkLayer::is_peer(to)) {
    const Gnh gnh = network_.gnh_to(to, 0, static_cast<std::uint16_t>(payload.size()));
    return send_path_cell(link_, lids.local, network_.router_to(to), kPathQpn, payload,
                          paths_.partition_to(to), &gnh);
  }
  bool is_sent = false;
  for (unsigned path = 0; path < paths_of_control(to, datagram); ++path) {
    is_sent |= send_path_cell(link_, lids.local, path_of(to, path), kPathQpn, payload,
                              paths_.partition_to(to));
  }
  return is_sent;
}

void Attachment::flush(base::Time now) {
  port_.flush(now);
  lanes_.on_flushed();
}

// At most one batch of the hop in each call, whatever is in it: the caller has other work.
std::optional<Underlay::Received> Attachment::receive() {
  if (auto batch = next_arrival()) return batch;
  arrivals_.clear();
  network_.forget_cells();
  const base::Time now = clock_.now();
  port_.on_time(now);
  if (std::exchange(is_misplaced_, false)) return_port(now);
  if (is_attached()) resolver_.step(now);
  const bool has_received = port_.receive(
      now, 1, [this](Link&, std::span<const ReceivedCell> cells) { take_cells(cells); });
  if (has_received) return next_arrival().value_or(Received{});
  flush(now);
  return std::nullopt;
}

// Their bytes stay until the next batch is received.
void Attachment::take_cells(std::span<const ReceivedCell> cells) {
  const base::Time now = clock_.now();
  for (std::size_t number = 0; number < cells.size(); ++number) {
    const ReceivedCell& cell = cells[number];
    const auto header = header_of(cell.bytes);
    if (header && header->dlid == Lid() && takes_smp(cell, header->slid)) continue;
    if (!is_attached()) {
      counters_.add(AttachmentCounter::kRxDropPeer);
    } else if (!header) {
      counters_.add(AttachmentCounter::kRxDropCell);
    } else if (!own_lids().has(header->dlid) || !may_be_source(header->slid)) {
      counters_.add(AttachmentCounter::kRxDropLid);
    } else if (network_.takes(*header)) {
      take_global(cell, *header, number);
    } else {
      const bool is_data = header->service != Service::kMgmt;
      if (is_data && header->dlid != own_lid_to(header->slid))
        resolver_.use_all_paths(header->slid, now);
      arrivals_.add({cell, header->slid, header->dlid, header->partition, number});
    }
  }
}

// The layers above get a cell CRC that is computed here, so the one that came is checked first.
void Attachment::take_global(const ReceivedCell& cell, const MacHeader& header,
                             std::size_t number) {
  if (check_cell_crc(cell.bytes, cell.crc_head_only) != CellError::kNone) {
    return counters_.add(AttachmentCounter::kRxDropCell);
  }
  const NetworkLayer::Taken taken = network_.take(cell, header);
  switch (taken.fault) {
    case NetworkLayer::Fault::kNone:
      return arrivals_.add({taken.cell, taken.from, header.dlid, header.partition, number});
    case NetworkLayer::Fault::kGlobal:
      return counters_.add(AttachmentCounter::kRxDropNetwork);
    case NetworkLayer::Fault::kDestination:
      return counters_.add(AttachmentCounter::kRxDropDestination);
    case NetworkLayer::Fault::kOrigin:
      return counters_.add(AttachmentCounter::kRxDropOrigin);
  }
}

// Returns nothing behind the last one. Cells of the switch itself are for this port. The cells of
// queue pairs have their partition checked there.
std::optional<Underlay::Received> Attachment::next_arrival() {
  while (!arrivals_.empty()) {
    const ArrivedCells::Cell& first = arrivals_.front();
    const bool is_of_switch = first.from == link_.remote_lid();
    const auto payload = payload_of_path_cell(
        first.cell.bytes, is_of_switch ? kSwitchQpn : kPathQpn, first.cell.crc_head_only);
    if (!payload && !is_of_switch) {
      const ArrivedCells::Run run = arrivals_.pop_run();
      counters_.add(AttachmentCounter::kRxCell, run.cells);
      return Received{run.bytes, run.stride, names_.address_of(run.from)};
    }
    arrivals_.pop();
    if (!payload) {
      counters_.add(AttachmentCounter::kRxDropCell);
    } else if (!takes_control(first, *payload)) {
      counters_.add(AttachmentCounter::kRxDropPartition);
    } else if (is_of_switch) {
      resolver_.on_mgmt(*payload, clock_.now());
    } else {
      return Received{*payload, payload->size(), names_.address_of(first.from)};
    }
  }
  return std::nullopt;
}

bool Attachment::takes_control(const ArrivedCells::Cell& arrival, base::Bytes datagram) {
  if (!paths_.on_heard(arrival.from, arrival.partition)) return false;
  if (begins_a_link(datagram)) {
    paths_.on_link_begun(arrival.from, arrival.to, base_lid());
  } else if (arrival.to != own_lid_to(arrival.from)) {
    resolver_.use_all_paths(arrival.from, clock_.now());
  }
  return true;
}

base::Time Attachment::deadline() const {
  base::Time at = port_.deadline();
  if (is_attached()) at = std::min(at, resolver_.deadline());
  if (port_.wants_write()) at = std::min(at, clock_.now() + kBlockedRetry);
  if (lanes_.is_blocked_by_lane()) at = std::min(at, clock_.now() + kLaneRetry);
  return at;
}

// Returns false if it is no SMP. A switch sends them to no LID: the port may have none yet.
bool Attachment::takes_smp(const ReceivedCell& cell, Lid from) {
  const auto smp = payload_of_path_cell(cell.bytes, kSubnetQpn, cell.crc_head_only);
  if (!smp || link_.peer_port() == 0 || from != link_.remote_lid()) return false;
  const PortLids before = agent_.given();
  std::array<std::byte, kSmpBytesMax> reply;
  const std::size_t bytes = agent_.serve(*smp, link_, reply);
  counters_.add(bytes != 0 ? AttachmentCounter::kSmp : AttachmentCounter::kRxDropSmp);
  const bool has_room = bytes == 0 || send_path_cell(link_, Lid(), link_.remote_lid(), kSubnetQpn,
                                                     base::Bytes(reply).first(bytes));
  if (!has_room) counters_.add(AttachmentCounter::kTxDropBlocked);
  if (agent_.given() != before) on_lids();
  return true;
}

// It has them by the link that is up.
void Attachment::on_lids() {
  if (!has_place_of_queue()) {
    is_misplaced_ = true;
    return;
  }
  base::log_info({base::EventKind::kLinkUp, link_.peer_name()},
                 "attached to port " + std::to_string(link_.peer_port()) + " of the switch at " +
                     link_.peer_name() + " as LID " + std::to_string(base_lid().value));
  resolver_.start(base_lid(), clock_.now());
}

void Attachment::on_link_up(Link& link) {
  refusals_ = {};
  if (link.peer_port() == 0) {
    base::log_error(link.peer_name() + " is no switch: connect to it without a switch between");
    return;
  }
  if (base_lid() != Lid()) return on_lids();
  base::log_info("port " + std::to_string(link.peer_port()) + " of the switch at " +
                 link.peer_name() + " is up: the subnet manager is to give this port its LID");
}

// Queue 0 is at the port of a node whatever its LID: in a subnet without more queues it may be any.
bool Attachment::has_place_of_queue() const {
  return queue_ == 0 || base_lid() == Lid() || queue_of(base_lid()) == queue_;
}

// It is another node's, which would not get in while we have it.
void Attachment::return_port(base::Time now) {
  base::log_warn("queue " + std::to_string(queue_) + " is not used: port " +
                 std::to_string(link_.peer_port()) + " of the switch at " + link_.peer_name() +
                 " is that of LID " + std::to_string(base_lid().value) +
                 ": the topology file lists a port for each queue of a node; then start again");
  port_.send_bye(now);
}

void Attachment::on_link_down(Link& link, std::string_view why) {
  if (has_place_of_queue()) {
    base::log_warn({base::EventKind::kLinkDown, link.peer_name()},
                   "the switch at " + link.peer_name() + " is gone: " + std::string(why));
  }
  resolver_.stop();
}

// Paths outlive the switch: their ends are other processes. What it has passed on from the subnet
// manager does not.
void Attachment::on_peer_restarted(Link& /*link*/) { agent_.forget(); }

void Attachment::on_refused(Link& link, InitReason reason) {
  if (!refusals_.note(reason, clock_.now())) return;
  base::log_warn({base::EventKind::kRefused, link.peer_name()},
                 "the switch at " + link.peer_name() +
                     " refuses the link: " + link_refusal(reason, LinkEnds::kSwitch));
}

}  // namespace splitnic::fabric
