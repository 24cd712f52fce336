// Connection setup by MGMT cells: CONNECT_REQ / REP / RTU / REJ, DISC / DISC_REP over a link
// that is up. It knows transactions and repetition; the content of a connection (queue pairs,
// private data) belongs to the handler. A request is repeated until a reply comes; a repeated
// request gets the same bytes in reply. Thread: the data thread, inside Adapter::poll.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {

// The queue pair of MGMT cells at both ends.
inline constexpr Qpn kManagementQpn{1};

using ConnectionId = base::StrongId<struct ConnectionTag, std::uint64_t>;

// The layer above: it is called when links and connections change. Calls come from within
// Adapter::poll; a handler may post, connect, create and destroy queue pairs in them.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  virtual void on_link_up(Link& link) = 0;
  virtual void on_link_down(Link& link, std::string_view why) = 0;
  // The path carries less than before: link.mcp() is smaller now, and queue pairs with a larger MCP
  // lose their cells. New queue pairs take the new one.
  virtual void on_path_narrowed(Link& /*link*/) {}
  // Passive side: another peer of this link's EUI-64 was refused at the address `from`.
  virtual void on_duplicate(Link& /*link*/, std::string_view /*from*/) {}
  // A connection is requested in a partition that this node is no member of: it gets no reply.
  virtual void on_foreign_partition(Link& /*link*/, PartitionKey /*key*/) {}
  // Passive side. Accepts: fills reply.pairs, pair_count and private_data (valid until the call
  // returns to the manager) and returns kNone. A refusal may carry private data too. The default is
  // for an end that only connects: it refuses.
  virtual MgmtReject on_connect_request(ConnectionId /*id*/, Link& /*link*/,
                                        const Mgmt& /*request*/, Mgmt& /*reply*/) {
    return MgmtReject::kRefused;
  }
  // Active side: the peer has accepted. Returning false refuses its reply and disconnects.
  virtual bool on_connected(ConnectionId id, Link& link, const Mgmt& reply) = 0;
  virtual void on_rejected(ConnectionId id, MgmtReject code, base::Bytes private_data) = 0;
  // The peer has disconnected, or another process has taken its place. Never called after
  // disconnect() by this side.
  virtual void on_disconnected(ConnectionId id, std::string_view why) = 0;
};

enum class ConnectionCounter {
  kDropFormat,
  kDropPeer,
  kDropPartition,
  kDropState,
  kRequests,
  kAccepted,
  kRejected,
  kDisconnects,
  kCount_
};

class ConnectionManager {
 public:
  // `partitions` outlive this.
  ConnectionManager(base::Random& random, const PartitionTable& partitions)
      : random_(random), partitions_(partitions) {}

  // REQUIRES a handler before the first poll of the adapter; it must outlive the manager's use.
  void set_handler(ConnectionHandler& handler) { handler_ = &handler; }

  // Active side: sends CONNECT_REQ over `link` until a reply comes or disconnect() is called. A
  // queue pair with mcp 0 gets that of the link, and one of RC or UC gets the flag of the packet
  // CRC if the link crosses routers; so in replies. REQUIRES a link that was up and 1 to
  // kMgmtPairsMax pairs, and that `partition` is one of our node.
  ConnectionId connect(Link& link, std::span<const MgmtPair> pairs, base::Bytes private_data,
                       base::Time now, PartitionKey partition = kDefaultPartition);
  // Sends DISC (at most ten times, while the link is up) and forgets the connection. Unknown ids
  // are ignored.
  void disconnect(ConnectionId id, base::Time now);
  // The link of a connection: another one than it began by, where queue pairs span links and the
  // first is down. Null for an unknown id.
  Link* link_of(ConnectionId id) const;
  // Connections whose queue pairs span links belong to `to`, which leads to the same node, in place
  // of `from`.
  void move(const Link& from, Link& to);
  // The same for those that this side has disconnected: their queue pairs may be gone.
  void move_closing(const Link& from, Link& to);

  void on_cell(Link& link, const CellView& cell, base::Time now);
  void on_link_up(Link& link, base::Time now);
  void on_link_down(Link& link, std::string_view why);
  void on_path_narrowed(Link& link) { handler_->on_path_narrowed(link); }
  void on_duplicate(Link& link, std::string_view from) { handler_->on_duplicate(link, from); }
  void on_peer_restarted(Link& link);
  void on_time(base::Time now);
  // Two links that are the ends of one way inside this adapter, where connections may have both
  // sides.
  void set_loopback(const Link& near, const Link& far) { loopback_ = {&near, &far}; }
  base::Time deadline() const;
  void visit_counters(const base::CounterVisitor& visitor) const { counters_.visit(visitor); }
  std::size_t size() const { return connections_.size(); }

 private:
  enum class Role : std::uint8_t { kActive, kPassive };
  enum class State : std::uint8_t { kRequested, kUp, kClosing };
  struct Connection {
    State state = State::kRequested;
    Link* link = nullptr;
    PartitionKey partition;
    std::vector<std::byte> last;  // payload that is repeated: REQ and DISC by timer, REP on request
    base::Time repeat_at = base::kNever;
    unsigned tries = 0;
    bool spans_links = false;  // a queue pair of it does; active, in REQUESTED: this end offers it
  };
  // Over the loopback of an adapter both sides of a connection are here, with one id.
  struct Key {
    ConnectionId id;
    Role role = Role::kActive;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Table = std::map<Key, Connection>;
  // A connection that ended when another process took the place of its peer. If the peer is alive
  // and returns, it gets DISC: otherwise it would send in vain until its retries are over. [B-03]
  struct Orphan {
    Eui64 peer;
    std::uint64_t instance = 0;
    ConnectionId id;
    PartitionKey partition;
  };
  static constexpr std::size_t kOrphansMax = 256;  // the oldest are forgotten
  // A connection that has ended at both sides: a late copy of its request makes no other one, which
  // the peer would not know, and not end.
  struct Ended {
    ConnectionId id;
    base::Time until{};
  };
  static constexpr std::size_t kEndedMax = 256;  // the oldest are forgotten
  static constexpr base::Duration kEndedKnown = std::chrono::seconds(60);  // as a number rests

  void on_request(Link& link, const Mgmt& m, base::Time now);
  void on_reply(Table::iterator at, const Mgmt& m, base::Time now);
  void on_disc(Link& link, const Mgmt& m, PartitionKey own, base::Time now);
  void add_ended(ConnectionId id, base::Time now);
  bool has_ended(ConnectionId id, base::Time now) const;
  // Of a connection whose peer knows that it has ended.
  void remove(Table::iterator at, base::Time now);
  Mgmt make(MgmtKind kind, ConnectionId id, const Link& link) const;
  // The connection of this id that has `link`, or else one that has another link, or end().
  Table::iterator find(ConnectionId id, const Link& link);
  bool is_ours(const Link& link) const {
    return &link == loopback_.first || &link == loopback_.second;
  }
  // Whether messages of the connection come by this link.
  static bool is_by(const Connection& c, const Link& link);
  // DISC is sent by this link from now on.
  void close_by(ConnectionId id, Connection& c, Link& link) const;
  static bool send(Link& link, PartitionKey partition, base::Bytes payload);
  static bool send(Link& link, PartitionKey partition, const Mgmt& m);
  static std::vector<std::byte> bytes(const Mgmt& m);
  void add_orphan(const Link& link, ConnectionId id, PartitionKey partition);
  void end_orphans(Link& link, base::Time now);

  base::Random& random_;
  const PartitionTable& partitions_;
  ConnectionHandler* handler_ = nullptr;
  Table connections_;
  std::pair<const Link*, const Link*> loopback_{};
  std::deque<Orphan> orphans_;
  std::deque<Ended> ended_;
  base::Counters<ConnectionCounter> counters_;
};

}  // namespace splitnic::fabric

template <>
struct splitnic::base::CounterNames<splitnic::fabric::ConnectionCounter> {
  static constexpr std::array<std::string_view, 8> kNames = {
      "fabric.mgmt.drop.format", "fabric.mgmt.drop.peer",     "fabric.mgmt.drop.partition",
      "fabric.mgmt.drop.state",  "fabric.connect.requests",   "fabric.connect.accepted",
      "fabric.connect.rejected", "fabric.connect.disconnects"};
};
