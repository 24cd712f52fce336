#include "fabric_emul/verbs/connection_manager.h"

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/link/port.h"  // inline functions of Link
#include "fabric_emul/transport/path_set.h"
#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {
namespace {

using namespace std::chrono_literals;
constexpr base::Duration kRequestEvery = 200ms;
constexpr base::Duration kDiscEvery = 100ms;
// While the link is up. A peer that misses them all notices only when it sends.
constexpr unsigned kDiscTries = 10;

// A queue pair without an MCP takes that of the path. Qp::connect() decides on the packet CRC in
// the same way.
void complete_for(const Link& link, Mgmt& m) {
  for (MgmtPair& pair : std::span(m.pairs).first(m.pair_count)) {
    pair.mcp = pair.mcp == 0 ? link.mcp() : std::min(pair.mcp, link.mcp());
    if (is_connected(pair.service) && link.crosses_routers()) pair.flags |= kPairPacketCrc;
  }
}

bool offers_links(std::span<const MgmtPair> pairs) {
  return std::ranges::any_of(pairs,
                             [](const MgmtPair& pair) { return (pair.flags & kPairLinks) != 0; });
}

}  // namespace

Mgmt ConnectionManager::make(MgmtKind kind, ConnectionId id, const Link& link) const {
  Mgmt m;
  m.kind = kind;
  m.transaction = id.value;
  m.eui64 = link.local_eui64();
  m.instance = link.local_instance();
  m.peer_eui64 = link.peer_eui64();
  m.peer_instance = link.peer_instance();
  return m;
}

std::vector<std::byte> ConnectionManager::bytes(const Mgmt& m) {
  std::vector<std::byte> out(m.bytes());
  emit_mgmt(out, m);
  return out;
}

bool ConnectionManager::send(Link& link, PartitionKey partition, base::Bytes payload) {
  CellHead head;
  MacHeader& h = head.header;
  h.pos = Pos::kOnly;
  h.op = Op::kMgmt;
  h.service = Service::kMgmt;
  h.dlid = link.next_remote_lid();
  h.slid = link.local_lid();
  h.dqpn = h.sqpn = kManagementQpn;
  h.partition = partition;
  h.payload_bytes = static_cast<std::uint16_t>(payload.size());
  return send_cell_on(link, kMgmtLane, head, CopyOf{payload}) > 0;
}

bool ConnectionManager::send(Link& link, PartitionKey partition, const Mgmt& m) {
  return send(link, partition, bytes(m));
}

ConnectionId ConnectionManager::connect(Link& link, std::span<const MgmtPair> pairs,
                                        base::Bytes private_data, base::Time now,
                                        PartitionKey partition) {
  CHECK(link.mcp() != 0 && partitions_.has(partition));
  CHECK(!pairs.empty() && pairs.size() <= kMgmtPairsMax);
  const ConnectionId id(random_.next());
  Mgmt m = make(MgmtKind::kConnectReq, id, link);
  m.pair_count = pairs.size();
  std::ranges::copy(pairs, m.pairs.begin());
  m.private_data = private_data;
  complete_for(link, m);
  Connection& c = connections_[{id, Role::kActive}];
  c.link = &link;
  c.partition = partition;
  c.last = bytes(m);
  c.repeat_at = now;  // the first one leaves in this iteration
  c.spans_links = offers_links(pairs);
  counters_.add(ConnectionCounter::kRequests);
  return id;
}

ConnectionManager::Table::iterator ConnectionManager::find(ConnectionId id, const Link& link) {
  const auto active = connections_.find({id, Role::kActive});
  if (active != connections_.end() && active->second.link == &link) return active;
  const auto passive = connections_.find({id, Role::kPassive});
  return passive != connections_.end() ? passive : active;
}

bool ConnectionManager::is_by(const Connection& c, const Link& link) {
  return c.link == &link || (c.spans_links && lead_to_one_node(*c.link, link));
}

Link* ConnectionManager::link_of(ConnectionId id) const {
  auto at = connections_.find({id, Role::kActive});
  if (at == connections_.end()) at = connections_.find({id, Role::kPassive});
  return at == connections_.end() ? nullptr : at->second.link;
}

// A request is of the link that it names.
void ConnectionManager::move(const Link& from, Link& to) {
  for (auto& [key, c] : connections_) {
    if (c.link != &from || !c.spans_links || c.state == State::kRequested) continue;
    c.link = &to;
    if (c.state == State::kClosing) close_by(key.id, c, to);
  }
}

void ConnectionManager::move_closing(const Link& from, Link& to) {
  for (auto& [key, c] : connections_) {
    if (c.link == &from && c.spans_links && c.state == State::kClosing) close_by(key.id, c, to);
  }
}

void ConnectionManager::close_by(ConnectionId id, Connection& c, Link& link) const {
  c.link = &link;
  c.last = bytes(make(MgmtKind::kDisc, id, link));
  c.tries = 0;
}

// Over the loopback the active side disconnects, and its DISC ends the other.
void ConnectionManager::disconnect(ConnectionId id, base::Time now) {
  auto at = connections_.find({id, Role::kActive});
  if (at == connections_.end()) at = connections_.find({id, Role::kPassive});
  if (at == connections_.end() || at->second.state == State::kClosing) return;
  Connection& c = at->second;
  counters_.add(ConnectionCounter::kDisconnects);
  c.state = State::kClosing;
  c.last = bytes(make(MgmtKind::kDisc, id, *c.link));
  c.repeat_at = now;
  c.tries = 0;
}

void ConnectionManager::on_cell(Link& link, const CellView& cell, base::Time now) {
  Mgmt m;
  if (parse_mgmt(cell.payload, m) != MgmtError::kNone) {
    return counters_.add(ConnectionCounter::kDropFormat);
  }
  if (m.eui64 != link.peer_eui64() || m.instance != link.peer_instance() ||
      m.peer_eui64 != link.local_eui64() || m.peer_instance != link.local_instance()) {
    // Of an earlier process at either end [F-48].
    return counters_.add(ConnectionCounter::kDropPeer);
  }
  const auto own = partitions_.own(cell.header.partition);
  const auto at = find(ConnectionId(m.transaction), link);
  if (!own || (at != connections_.end() && at->second.partition != *own)) {
    counters_.add(ConnectionCounter::kDropPartition);
    if (!own && m.kind == MgmtKind::kConnectReq) {
      handler_->on_foreign_partition(link, cell.header.partition);
    }
    return;
  }
  m.partition = *own;
  if (m.kind == MgmtKind::kConnectReq) return on_request(link, m, now);
  if (m.kind == MgmtKind::kDisc) return on_disc(link, m, *own, now);
  const bool is_of_names = m.kind == MgmtKind::kResolve || m.kind == MgmtKind::kResolved;
  if (is_of_names || at == connections_.end() || !is_by(at->second, link)) {
    return counters_.add(ConnectionCounter::kDropState);
  }
  if (m.kind == MgmtKind::kDiscRep) {
    if (at->second.state == State::kClosing) remove(at, now);
    return;
  }
  if (m.kind == MgmtKind::kConnectRtu) return;  // the passive side is ready since its REP
  on_reply(at, m, now);
}

void ConnectionManager::on_request(Link& link, const Mgmt& m, base::Time now) {
  const ConnectionId id(m.transaction);
  const auto known = find(id, link);
  const bool is_from_here = known != connections_.end() && known->second.link != &link &&
                            is_ours(link) && is_ours(*known->second.link);
  if (known != connections_.end() && !is_from_here) {
    if (known->first.role == Role::kPassive && is_by(known->second, link) &&
        known->second.state == State::kUp) {
      send(link, m.partition, known->second.last);
    } else {
      counters_.add(ConnectionCounter::kDropState);
    }
    return;
  }
  if (has_ended(id, now)) return counters_.add(ConnectionCounter::kDropState);
  Mgmt reply = make(MgmtKind::kConnectRep, id, link);
  const MgmtReject code = handler_->on_connect_request(id, link, m, reply);
  if (code != MgmtReject::kNone) {
    counters_.add(ConnectionCounter::kRejected);
    reply.kind = MgmtKind::kConnectRej;
    reply.reject = code;
    reply.pair_count = 0;
    send(link, m.partition, reply);
    return;
  }
  counters_.add(ConnectionCounter::kAccepted);
  complete_for(link, reply);
  Connection& c = connections_[{id, Role::kPassive}];
  c.state = State::kUp;
  c.link = &link;
  c.partition = m.partition;
  c.last = bytes(reply);
  c.spans_links = offers_links(m.used_pairs()) && offers_links(reply.used_pairs());
  send(link, c.partition, c.last);
}

void ConnectionManager::on_reply(Table::iterator at, const Mgmt& m, base::Time now) {
  Connection& c = at->second;
  const ConnectionId id = at->first.id;
  if (at->first.role != Role::kActive || (c.state != State::kRequested && c.state != State::kUp)) {
    return counters_.add(ConnectionCounter::kDropState);
  }
  if (m.kind == MgmtKind::kConnectRej) {
    if (c.state != State::kRequested) return counters_.add(ConnectionCounter::kDropState);
    counters_.add(ConnectionCounter::kRejected);
    connections_.erase(at);
    return handler_->on_rejected(id, m.reject, m.private_data);
  }
  if (c.state == State::kRequested) {
    c.state = State::kUp;
    c.repeat_at = base::kNever;
    c.spans_links = c.spans_links && offers_links(m.used_pairs());
    if (!handler_->on_connected(id, *c.link, m)) return disconnect(id, now);
    counters_.add(ConnectionCounter::kAccepted);
  }
  send(*c.link, c.partition, make(MgmtKind::kConnectRtu, id, *c.link));
}

void ConnectionManager::on_disc(Link& link, const Mgmt& m, PartitionKey own, base::Time now) {
  const ConnectionId id(m.transaction);
  send(link, own, make(MgmtKind::kDiscRep, id, link));
  const auto at = find(id, link);
  if (at == connections_.end()) return add_ended(id, now);  // its request may still come
  if (!is_by(at->second, link)) return;
  const bool is_news = at->second.state != State::kClosing;
  remove(at, now);
  counters_.add(ConnectionCounter::kDisconnects);
  if (is_news) handler_->on_disconnected(id, "the peer disconnected");
}

void ConnectionManager::add_ended(ConnectionId id, base::Time now) {
  if (has_ended(id, now)) return;
  while (!ended_.empty() && (ended_.size() == kEndedMax || ended_.front().until <= now)) {
    ended_.pop_front();
  }
  ended_.push_back({id, now + kEndedKnown});
}

bool ConnectionManager::has_ended(ConnectionId id, base::Time now) const {
  return std::ranges::any_of(ended_,
                             [&](const Ended& one) { return one.id == id && now < one.until; });
}

void ConnectionManager::remove(Table::iterator at, base::Time now) {
  add_ended(at->first.id, now);
  connections_.erase(at);
}

void ConnectionManager::on_link_up(Link& link, base::Time now) {
  for (auto& [key, c] : connections_) {
    if (c.state == State::kClosing && is_by(c, link) && !c.link->up()) close_by(key.id, c, link);
    if (c.link != &link || (c.repeat_at == base::kNever && c.state != State::kClosing)) continue;
    c.repeat_at = now;
    c.tries = 0;
  }
  end_orphans(link, now);
  handler_->on_link_up(link);
}

void ConnectionManager::add_orphan(const Link& link, ConnectionId id, PartitionKey partition) {
  if (orphans_.size() == kOrphansMax) orphans_.pop_front();
  orphans_.push_back({link.peer_eui64(), link.peer_instance(), id, partition});
}

void ConnectionManager::end_orphans(Link& link, base::Time now) {
  std::erase_if(orphans_, [&](const Orphan& orphan) {
    if (orphan.peer != link.peer_eui64() || orphan.instance != link.peer_instance()) return false;
    Connection& c = connections_[{orphan.id, Role::kActive}];
    c.link = &link;
    c.partition = orphan.partition;
    c.state = State::kClosing;
    c.last = bytes(make(MgmtKind::kDisc, orphan.id, link));
    c.repeat_at = now;
    return true;
  });
}

void ConnectionManager::on_link_down(Link& link, std::string_view why) {
  handler_->on_link_down(link, why);
}

void ConnectionManager::on_peer_restarted(Link& link) {
  std::vector<ConnectionId> ended;
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (at->second.link != &link) {
      ++at;
      continue;
    }
    if (at->second.state != State::kClosing) ended.push_back(at->first.id);
    add_orphan(link, at->first.id, at->second.partition);
    at = connections_.erase(at);
  }
  for (const ConnectionId id : ended)
    handler_->on_disconnected(id, "the peer restarted or has other LIDs");
}

void ConnectionManager::on_time(base::Time now) {
  for (auto at = connections_.begin(); at != connections_.end();) {
    Connection& c = at->second;
    if (c.repeat_at > now) {
      ++at;
      continue;
    }
    const bool is_closing = c.state == State::kClosing;
    if (is_closing && c.tries >= kDiscTries) {
      at = connections_.erase(at);  // the peer may not know, and may still request it
      continue;
    }
    // The peer may be alive behind a cut cable and still have its queue pairs: DISC is sent when
    // the link is back.
    if (is_closing && !c.link->up()) {
      c.repeat_at = base::kNever;
      ++at;
      continue;
    }
    if (c.link->up() && send(*c.link, c.partition, c.last)) ++c.tries;
    c.repeat_at = now + (is_closing ? kDiscEvery : kRequestEvery);
    ++at;
  }
}

base::Time ConnectionManager::deadline() const {
  base::Time at = base::kNever;
  for (const auto& [key, c] : connections_) at = std::min(at, c.repeat_at);
  return at;
}

}  // namespace splitnic::fabric
