#include "fabric_emul/switching/attachment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/endian.h"
#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/link/link_refusal.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/switching/queue_lid.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {
namespace {

// The first byte of an address; the two behind it are a LID, or the number of a name.
constexpr std::byte kIsLid{1};
constexpr std::byte kIsName{2};

PeerAddress address_with(std::byte kind, std::size_t number) {
  PeerAddress address;
  address.bytes[0] = kind;
  base::store_be(&address.bytes[1], static_cast<std::uint16_t>(number));
  return address;
}

std::uint16_t number_in(const PeerAddress& address) {
  return base::load_be<std::uint16_t>(&address.bytes[1]);
}

std::size_t gnh_bytes(Lid to) { return NetworkLayer::is_peer(to) ? kGnhBytes : 0; }

PortConfig as_hop(PortConfig hop, std::size_t batches) {
  hop.full.lane_queue_bytes = batches * kBatchBytesMax;
  hop.uses_fragments = false;
  hop.takes_no_lid = true;
  return hop;
}

}  // namespace

Attachment::Attachment(Underlay& carrier, const PeerAddress& switch_at, const PortConfig& hop,
                       base::Clock& clock, base::Random& random, std::uint32_t queue,
                       PartitionTable partitions, std::string name)
    : UnderlayDecorator(carrier),
      clock_(clock),
      port_(carrier, as_hop(hop, kBatchesOfLane), random, *this),
      switch_at_(switch_at),
      link_(nullptr),
      queue_(queue),
      partitions_(std::move(partitions)),
      network_(carried_bytes_max(hop)),
      agent_(std::move(name)) {
  CHECK(!hop.listens);
  arrivals_.reserve(ReceivedCells::kCellsMax);
  link_ = &port_.connect(switch_at, clock_.now());
}

PeerAddress Attachment::peer(const std::string& node, unsigned path) {
  const bool uses_all_paths = path == kAllPaths;
  const std::string name = name_of_path(name_of_queue(node, queue_), uses_all_paths ? 0 : path);
  auto at = std::ranges::find(named_, name, &Named::name);
  if (at == named_.end()) at = named_.insert(at, {name, Lid()});
  at->uses_all_paths = uses_all_paths;
  resolve_at_ = clock_.now();
  return address_with(kIsName, static_cast<std::size_t>(at - named_.begin()));
}

Lid Attachment::lid_of(const PeerAddress& peer) const {
  const std::uint16_t number = number_in(peer);
  if (peer.bytes[0] == kIsLid) return Lid(number);
  if (peer.bytes[0] == kIsName && number < named_.size()) return named_[number].lid;
  return Lid();
}

PeerAddress Attachment::address_of(Lid lid) const {
  const Named* named = named_at(lid);
  if (named == nullptr) return address_with(kIsLid, lid.value);
  return address_with(kIsName, static_cast<std::size_t>(named - named_.data()));
}

// A peer gets replies in the partition in which it was heard.
PartitionKey Attachment::partition_to(Lid lid) const {
  const auto at = in_partition_.find(lid);
  return at == in_partition_.end() ? partitions_.first() : at->second;
}

std::optional<LinkLids> Attachment::lids_of(const PeerAddress& peer) const {
  const Lid lid = lid_of(peer);
  if (!is_attached() || lid == Lid()) return std::nullopt;
  return LinkLids{own_lid_to(lid), lid};
}

std::string Attachment::name_of(const PeerAddress& peer) const {
  const std::string via = " via " + below_.name_of(switch_at_);
  if (peer.bytes[0] == kIsName && number_in(peer) < named_.size()) {
    return named_[number_in(peer)].name + via;
  }
  const Lid lid = lid_of(peer);
  if (NetworkLayer::is_peer(lid)) return network_.name_of(lid) + via;
  return "LID " + std::to_string(lid.value) + via;
}

std::size_t Attachment::datagram_bytes_max(const PeerAddress& to) const {
  if (link_->mcp() == 0) return below_.datagram_bytes_max(switch_at_);
  return hop_stride() + kSessionReserveBytes - gnh_bytes(lid_of(to));
}

bool Attachment::take_too_long_report() { return std::exchange(is_narrowed_, false); }

void Attachment::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  port_.visit_counters([&](std::string_view name, std::uint64_t value) {
    visitor("hop." + std::string(name), value);
  });
}

// All of a batch leaves in one batch to the switch, which has the same stride.
Underlay::SendStatus Attachment::send(const PeerAddress& to, base::Bytes bytes,
                                      std::size_t stride) {
  const Lid lid = lid_of(to);
  const bool is_reachable = lid != Lid() && (!NetworkLayer::is_peer(lid) || network_.is_known());
  if (!is_attached() || !is_reachable) {
    counters_.add(AttachmentCounter::kTxDropDown);
    return SendStatus::kRefused;
  }
  if (std::min(stride, bytes.size()) + gnh_bytes(lid) > hop_stride()) return SendStatus::kTooLong;
  const base::Time now = clock_.now();
  flush(now);
  is_blocked_by_lane_ = link_->is_full_profile() && !lanes_take(bytes, stride);
  if (is_blocked_by_lane_ || (!link_->is_full_profile() && link_->blocked(kMgmtLane)))
    return SendStatus::kBlocked;
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
  const base::MutableBytes room = reserve(cell.size(), flit.header.vl);
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  link_->commit(room.size());
  return true;
}

bool Attachment::send_to_peer(Lid to, const FlitView& flit) {
  const base::Bytes cell = flit.payload;
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  const CellLids lids{network_.router_to(to), base_lid()};
  const bool has_header = is_datagram(header);
  const base::MutableBytes room =
      reserve(cell.size() + (has_header ? 0 : kGnhBytes), flit.header.vl);
  if (room.empty()) return false;
  if (has_header) {
    network_.set_leg(to);
    change_lids(room, cell, lids, link_->crc_head_only());
  } else {
    add_gnh(room, cell, network_.gnh_to(to, header.sl, header.payload_bytes), lids,
            link_->crc_head_only());
  }
  link_->commit(room.size());
  return true;
}

// At most one batch of the hop in each call, whatever is in it: the caller has other work.
std::optional<Underlay::Received> Attachment::receive() {
  if (auto batch = next_arrival()) return batch;
  arrivals_.clear();
  network_.forget_cells();
  next_ = 0;
  const base::Time now = clock_.now();
  port_.on_time(now);
  if (std::exchange(is_misplaced_, false)) return_port(now);
  resolve(now);
  const bool has_received = port_.receive(
      now, 1, [this](Link&, std::span<const ReceivedCell> cells) { take_cells(cells); });
  if (has_received) return next_arrival().value_or(Received{});
  flush(now);
  return std::nullopt;
}

// Their bytes stay until the next batch is received.
void Attachment::take_cells(std::span<const ReceivedCell> cells) {
  const base::Time now = clock_.now();
  for (const ReceivedCell& cell : cells) {
    const auto header = header_of(cell.bytes);
    if (header && header->dlid == Lid() && takes_smp(cell, header->slid)) continue;
    if (!is_attached()) {
      counters_.add(AttachmentCounter::kRxDropPeer);
    } else if (!header) {
      counters_.add(AttachmentCounter::kRxDropCell);
    } else if (!own_lids().has(header->dlid) || header->slid == Lid()) {
      counters_.add(AttachmentCounter::kRxDropLid);
    } else if (network_.takes(*header)) {
      take_global(cell, *header);
    } else {
      const bool is_data = header->service != Service::kMgmt;
      if (is_data && header->dlid != own_lid_to(header->slid)) use_all_paths(header->slid, now);
      arrivals_.push_back({cell, header->slid, header->dlid, header->partition});
    }
  }
}

// The layers above get a cell CRC that is computed here, so the one that came is checked first.
void Attachment::take_global(const ReceivedCell& cell, const MacHeader& header) {
  if (check_cell_crc(cell.bytes, cell.crc_head_only) != CellError::kNone) {
    return counters_.add(AttachmentCounter::kRxDropCell);
  }
  const NetworkLayer::Taken taken = network_.take(cell, header);
  switch (taken.fault) {
    case NetworkLayer::Fault::kNone:
      return arrivals_.push_back({taken.cell, taken.from, header.dlid, header.partition});
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
  while (next_ < arrivals_.size()) {
    const Arrival& first = arrivals_[next_];
    const bool is_of_switch = first.from == link_->remote_lid();
    const auto payload = payload_of_path_cell(
        first.cell.bytes, is_of_switch ? kSwitchQpn : kPathQpn, first.cell.crc_head_only);
    if (!payload && !is_of_switch) return next_run();
    ++next_;
    if (!payload) {
      counters_.add(AttachmentCounter::kRxDropCell);
    } else if (!takes_control(first, *payload)) {
      counters_.add(AttachmentCounter::kRxDropPartition);
    } else if (is_of_switch) {
      on_mgmt(*payload);
    } else {
      return Received{*payload, payload->size(), address_of(first.from)};
    }
  }
  return std::nullopt;
}

bool Attachment::takes_control(const Arrival& arrival, base::Bytes datagram) {
  const auto own = partitions_.own(arrival.partition);
  if (!own) return false;
  if (*own == partitions_.first())
    in_partition_.erase(arrival.from);
  else
    in_partition_[arrival.from] = *own;
  if (!begins_a_link(datagram)) {
    if (arrival.to != own_lid_to(arrival.from)) use_all_paths(arrival.from, clock_.now());
    return true;
  }
  if (arrival.to == base_lid())
    called_at_.erase(arrival.from);
  else
    called_at_[arrival.from] = arrival.to;
  return true;
}

Underlay::Received Attachment::next_run() {
  const Arrival& first = arrivals_[next_];
  const base::Bytes cell = first.cell.bytes;
  // The header of its flit lies before the cell.
  const std::size_t flit_bytes = kFlitHeaderBytes + cell.size();
  std::size_t stride = flit_bytes;
  std::size_t count = 1;
  if (next_ + 1 < arrivals_.size() && arrivals_[next_ + 1].cell.bytes.data() > cell.data()) {
    stride = static_cast<std::size_t>(arrivals_[next_ + 1].cell.bytes.data() - cell.data());
    count = run_length(stride);
  }
  if (count == 1) stride = flit_bytes;
  counters_.add(AttachmentCounter::kRxCell, count);
  next_ += count;
  return Received{{cell.data() - kFlitHeaderBytes, (count - 1) * stride + flit_bytes},
                  stride,
                  address_of(first.from)};
}

// The cells from next_ on that lie `stride` apart, with nothing but filler between: they are a
// batch as their sender made it.
std::size_t Attachment::run_length(std::size_t stride) const {
  const Arrival& first = arrivals_[next_];
  const std::size_t flit_bytes = kFlitHeaderBytes + first.cell.bytes.size();
  if (stride < flit_bytes) return 1;
  std::size_t count = 1;
  for (; next_ + count < arrivals_.size(); ++count) {
    const Arrival& next = arrivals_[next_ + count];
    if (next.from != first.from || next.cell.vl != first.cell.vl ||
        next.cell.bytes.size() != first.cell.bytes.size() ||
        next.cell.bytes.data() != first.cell.bytes.data() + count * stride) {
      break;
    }
    const auto header = header_of(next.cell.bytes);
    if (header && header->service == Service::kMgmt) break;
  }
  return count;
}

base::Time Attachment::deadline() const {
  base::Time at = port_.deadline();
  if (is_attached()) at = std::min(at, resolve_at_);
  if (port_.wants_write()) at = std::min(at, clock_.now() + kBlockedRetry);
  if (is_blocked_by_lane_) at = std::min(at, clock_.now() + kLaneRetry);
  return at;
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
                 std::to_string(link_->peer_port()) + " of the switch at " + link_->peer_name() +
                 " is that of LID " + std::to_string(base_lid().value) +
                 ": the topology file lists a port for each queue of a node; then start again");
  port_.send_bye(now);
}

void Attachment::on_link_down(Link& link, std::string_view why) {
  if (has_place_of_queue()) {
    base::log_warn({base::EventKind::kLinkDown, link.peer_name()},
                   "the switch at " + link.peer_name() + " is gone: " + std::string(why));
  }
  resolve_at_ = base::kNever;
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
