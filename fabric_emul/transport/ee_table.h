// The end-to-end contexts of an adapter, by number: they are made, described in CONNECT, connected
// and ended here, get their cells, and take part in each iteration. A context is one end of the
// pair that two nodes have; all RD queue pairs of the node that send to the other one share it
// [S000-12]. Thread: the data thread. docs/protocol/rd.md
#pragma once

#include <map>
#include <memory>

#include "base/random.h"
#include "fabric_emul/transport/ee_context.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {

// The queue pairs of the adapter, as its contexts need them.
class RdQueuePairs {
 public:
  virtual ~RdQueuePairs() = default;
  // Null if there is none of service RD.
  virtual Qp* find_rd(Qpn qpn) = 0;
  // It may have something to send.
  virtual void wake(Qp& qp) = 0;
};

class EeTable {
 public:
  // Has at most `contexts_max`, of these partitions. The references outlive it.
  EeTable(std::size_t contexts_max, const PartitionTable& partitions, base::Random& random,
          RdQueuePairs& queue_pairs, base::Counters<TransportCounter>& counters);

  // Refused: the table is full, the node is no member of the partition, or another value is
  // impossible.
  base::Result<EeId> create(const EeInit& init);
  // The description for CONNECT. REQUIRES that it exists.
  MgmtPair describe(EeId id, std::uint8_t channel);
  // Returns an error and changes nothing if one of the two is no end-to-end context, or if it is
  // connected or has ended.
  base::Status connect(const MgmtPair& mine, const MgmtPair& theirs, Link& link);
  // Messages in flight complete as flushed, and their queue pairs go to SQE.
  void destroy(EeId id);
  EeContext* find(EeId id) {
    const auto at = contexts_.find(id);
    return at == contexts_.end() ? nullptr : at->second.get();
  }
  bool empty() const { return contexts_.empty(); }
  std::size_t size() const { return contexts_.size(); }

  // A cell of RD; a context that does not exist is counted.
  void on_cell(const CellView& cell, const Link& link, base::Time now);
  void on_time(base::Time now);
  // After a batch: sends the replies that are due, and what was lost.
  void transmit(base::Time now);
  base::Time deadline() const;
  // The link was down and is up again.
  void on_link_back(const Link& link, base::Time now);
  // Another process has taken the peer's place: the contexts to the old one end.
  void on_peer_restarted(const Link& link);
  // The queue pair is gone, or its messages are flushed.
  void abandon(const Qp& qp);
  // It takes nothing any more: what has come of messages for it is dropped.
  void drop_message(const Qp& qp);

 private:
  const std::size_t contexts_max_;
  const PartitionTable& partitions_;
  base::Random& random_;
  RdQueuePairs& queue_pairs_;
  base::Counters<TransportCounter>& counters_;
  std::map<EeId, std::unique_ptr<EeContext>> contexts_;
};

}  // namespace splitnic::fabric
