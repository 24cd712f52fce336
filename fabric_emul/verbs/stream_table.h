// The queue pairs of the STREAM service of one adapter, by number: they are made, described in
// CONNECT and connected here, get their cells, and take part in each iteration. The adapter looks a
// number up here only when no other queue pair has it, so that the other services pay nothing for
// streams; it picks the numbers too. Thread: the data thread. docs/protocol/stream.md
#pragma once

#include <map>
#include <memory>

#include "base/random.h"
#include "fabric_emul/stream/stream_qp.h"
#include "fabric_emul/verbs/qp_init.h"
#include "fabric_emul/wire/mgmt.h"

namespace splitnic::fabric {

class StreamTable {
 public:
  // The references outlive it.
  StreamTable(Mrwt& memory, base::Random& random) : memory_(memory), random_(random) {}

  // Makes the queue pair `qpn`, in INIT until connect(). The completion queues outlive it. Refused:
  // an impossible window or MCP. REQUIRES that the number is free.
  base::Status create(Qpn qpn, const StreamInit& init, CompletionQueue& send_cq,
                      CompletionQueue& recv_cq);
  // Returns false if there is none.
  bool destroy(Qpn qpn) { return streams_.erase(qpn) > 0; }
  StreamQp* find(Qpn qpn) {
    const auto at = streams_.find(qpn);
    return at == streams_.end() ? nullptr : at->second.get();
  }
  bool contains(Qpn qpn) const { return streams_.contains(qpn); }
  bool empty() const { return streams_.empty(); }
  std::size_t size() const { return streams_.size(); }
  bool uses_cq(const CompletionQueue& cq) const;

  base::Status post_send(Qpn qpn, const SendWr& wr);
  base::Status post_recv(Qpn qpn, const RecvWr& wr, base::Time now);
  static MgmtPair describe(const StreamQp& stream, std::uint8_t channel);
  // INIT -> RTS with the peer's description. Returns an error and changes nothing if the service or
  // the kind differs, or the stream is connected.
  static base::Status connect(StreamQp& stream, const MgmtPair& mine, const MgmtPair& theirs,
                              Link& link);

  // A cell for queue pair `cell.header.dqpn`, with its error and its size. Returns false if there
  // is no such stream.
  bool on_cell(const Link& link, const CellView& cell, CellError error, std::size_t bytes,
               base::Time now);
  // Sends the replies that a batch made due.
  void end_batch(base::Time now);
  // Timers, and then as end_batch().
  void on_time(base::Time now);
  // Each stream sends its quantum of cells. Returns true if one of them may have more.
  bool transmit(base::Time now);
  base::Time deadline() const;
  // The link was down and is up again.
  void on_link_back(const Link& link, base::Time now);
  // Another process has taken the peer's place: the streams to the old one end.
  void on_peer_restarted(const Link& link);

  const base::Counters<StreamCounter>& counters() const { return counters_; }

 private:
  Mrwt& memory_;
  base::Random& random_;
  base::Counters<StreamCounter> counters_;
  std::map<Qpn, std::unique_ptr<StreamQp>> streams_;
};

}  // namespace splitnic::fabric
