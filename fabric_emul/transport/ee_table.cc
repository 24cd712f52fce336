#include "fabric_emul/transport/ee_table.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace splitnic::fabric {

EeTable::EeTable(std::size_t contexts_max, const PartitionTable& partitions, base::Random& random,
                 RdQueuePairs& queue_pairs, base::Counters<TransportCounter>& counters)
    : contexts_max_(contexts_max),
      partitions_(partitions),
      random_(random),
      queue_pairs_(queue_pairs),
      counters_(counters) {}

base::Result<EeId> EeTable::create(const EeInit& init) {
  if (contexts_.size() >= contexts_max_) {
    return base::Error("the adapter has no end-to-end context left");
  }
  if (!partitions_.has(init.partition)) {
    return base::Error("this node is no member of partition " + text_of(init.partition), EINVAL);
  }
  if (init.sl > kSlMax || init.mcp % 4 != 0 || init.retry_count > kRetryCountMax ||
      init.message_max > kPacketBytesMax) {
    return base::Error(
        "an end-to-end context has an impossible service level, MCP, message length or retry count",
        EINVAL);
  }
  for (;;) {
    const EeId id(random_.next32() & 0xFFFFFF);
    if (id.value == 0 || contexts_.contains(id)) continue;
    const Psn start(random_.next32());
    contexts_[id] = std::make_unique<EeContext>(id, init, start, queue_pairs_, counters_);
    return id;
  }
}

MgmtPair EeTable::describe(EeId id, std::uint8_t channel) {
  const EeContext* ee = find(id);
  CHECK(ee != nullptr);
  MgmtPair pair;
  pair.channel = channel;
  pair.service = Service::kRd;
  pair.qpn = Qpn(id.value);
  pair.start_psn = ee->start_psn();
  pair.mcp = ee->mcp();
  pair.msg_max = std::max<std::uint32_t>(ee->mcp(), ee->own_message_max());
  return pair;
}

base::Status EeTable::connect(const MgmtPair& mine, const MgmtPair& theirs, Link& link) {
  EeContext* ee = find(EeId(mine.qpn.value));
  if (ee == nullptr) return base::Error("no such end-to-end context");
  if (theirs.service != Service::kRd) {
    return base::Error("the peer describes no end-to-end context", EINVAL);
  }
  if (theirs.mcp != 0 && theirs.mcp < link.mcp_min()) {
    return base::Error("the peer's end-to-end context takes short cells only", EINVAL);
  }
  EePeer peer;
  peer.context = theirs.qpn.value;
  peer.receive_psn = theirs.start_psn;
  peer.message_max = theirs.msg_max;
  peer.mcp = link.mcp();
  if (mine.mcp != 0) peer.mcp = std::min(peer.mcp, mine.mcp);
  if (theirs.mcp != 0) peer.mcp = std::min(peer.mcp, theirs.mcp);
  return ee->connect(link, peer);
}

void EeTable::destroy(EeId id) {
  EeContext* ee = find(id);
  if (ee == nullptr) return;
  ee->end(WcStatus::kFlushed);
  contexts_.erase(id);
}

void EeTable::on_cell(const CellView& cell, const Link& link, base::Time now) {
  EeContext* ee = find(EeId(*cell.ee));
  if (ee == nullptr) return counters_.add(TransportCounter::kCellDropEe);
  ee->on_cell(cell, link, now);
}

void EeTable::on_time(base::Time now) {
  for (const auto& [id, ee] : contexts_) ee->on_time(now);
}

void EeTable::transmit(base::Time now) {
  for (const auto& [id, ee] : contexts_) ee->transmit(now);
}

base::Time EeTable::deadline() const {
  base::Time at = base::kNever;
  for (const auto& [id, ee] : contexts_) at = std::min(at, ee->deadline());
  return at;
}

void EeTable::on_link_back(const Link& link, base::Time now) {
  for (const auto& [id, ee] : contexts_) {
    if (ee->link() == &link) ee->on_link_back(now);
  }
}

void EeTable::on_peer_restarted(const Link& link) {
  for (const auto& [id, ee] : contexts_) {
    if (ee->link() == &link) ee->end(WcStatus::kRetryExceeded);
  }
}

void EeTable::abandon(const Qp& qp) {
  for (const auto& [id, ee] : contexts_) ee->abandon(qp);
}

void EeTable::drop_message(const Qp& qp) {
  for (const auto& [id, ee] : contexts_) ee->drop_message_of(qp);
}

}  // namespace splitnic::fabric
