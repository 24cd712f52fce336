// A channel adapter: protection domains, memory, completion queues, queue pairs and ports, driven
// by one call per iteration of the data thread. AdapterLimits bounds their numbers [S000-01]
// [S001-29]. What only one service needs has its own table: StreamTable, EeTable, RawFilters.
//
// An iteration: poll() is receive() and then transmit(), which the programs call apart. receive()
// passes each cell to its queue pair, which adds completions to its completion queue. transmit()
// sends replies and what was posted, and hands the batches to the underlay, which does all I/O.
// Time comes in with every call; nothing here sleeps or locks. The Underlay and
// Random given must outlive the adapter. Thread: the data thread.
//
// Files: adapter.cc creates and connects, adapter_iteration.cc is the iteration,
// adapter_register.cc has registration through the send queue, adapter_loopback.cc the way to its
// own queue pairs, adapter_services.cc the cells of services that no queue pair number leads to,
// adapter_links.cc the links of queue pairs that span several.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/link/refusal_log.h"
#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/verbs/connection_manager.h"
#include "fabric_emul/verbs/loopback.h"
#include "fabric_emul/verbs/qp_init.h"
#include "fabric_emul/verbs/qp_table.h"
#include "fabric_emul/verbs/raw_filters.h"
#include "fabric_emul/verbs/stream_table.h"
#include "fabric_emul/verbs/verbs.h"

namespace splitnic::fabric {

struct AdapterLimits {
  std::size_t qps = 4096;  // of all services
  std::size_t memory_entries = 16384;
  std::size_t att_pages = kAttPagesDefault;  // of the translation tables of all regions
  std::size_t cqs = 1024;
  std::size_t ports = 4;
  std::size_t ee_contexts = 256;
  MrwtProfile profile = MrwtProfile::kRegionsOk;  // whether regions serve the peer
  bool accepts_rdma = true;      // false: no queue pair takes a write, read or FetchOp [S000-01]
  bool predicts_headers = true;  // long RDMA writes are sent and taken in runs of cells
  PartitionTable partitions{};   // of this node: cells of others are dropped
};

// Upper limit of the depth of a completion queue.
inline constexpr std::size_t kCqDepthMax = std::size_t{1} << 22;

class Adapter final : private LinkObserver, private RdQueuePairs {
 public:
  Adapter(const AdapterLimits& limits, base::Random& random, bool identity_keys = false);
  ~Adapter() override;
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // Adds a port over an underlay. The adapter chooses its LIDs; config.lid_base is ignored.
  // Refused: too many ports, an EUI-64 that another port has, if one of them listens, or no LIDs
  // left for its links_max.
  base::Result<Port*> add_port(Underlay& underlay, const PortConfig& config);
  std::span<const std::unique_ptr<Port>> ports() const { return ports_; }

  PdId alloc_pd() { return PdId(++last_pd_); }
  // Ends every region and window of the domain.
  void free_pd(PdId pd) { memory_.release_domain(pd); }
  Mrwt& memory() { return memory_; }

  // `memory` as in CommonInit. A queue with a notifier, which outlives it, can be armed.
  base::Result<CqId> create_cq(std::size_t depth, base::MemoryAccount* memory = nullptr,
                               CompletionNotifier* notifier = nullptr);
  // REQUIRES that no queue pair uses it.
  void destroy_cq(CqId cq);
  std::size_t poll_cq(CqId cq, std::span<Wc> out) { return cqs_[cq.value]->poll(out); }
  // Arms the queue for one notification, as CompletionQueue::arm(): the caller then polls once
  // more, because what is in the queue already does not fire. Refused if it has no notifier
  // [S000-02].
  base::Status arm_cq(CqId cq, CqEvents events);

  base::Result<Qpn> create_qp(const QpInit& init, base::Time now);
  // A queue pair of the STREAM service, in INIT until connect_qp(). It is destroyed, posted to,
  // described and connected like the others; streams() finds it, find_qp() and modify_qp() do not
  // know it. Refused: the kind with RDMA, where the adapter accepts none.
  base::Result<Qpn> create_stream(const StreamInit& init, base::Time now);
  StreamTable& streams() { return streams_; }
  // INIT -> RTR binds a queue pair of a connected service to the link that leads to
  // values.remote_lid. Returns an error if there is none. RESET draws new start numbers, so that
  // late cells of this connection are not of the next one.
  base::Status modify_qp(Qpn qpn, QpState to, AttrMask given, const QpAttr& values);
  // RESET -> INIT, so that receives can be posted before the peer knows of the queue pair.
  base::Status prepare_qp(Qpn qpn);
  void destroy_qp(Qpn qpn, base::Time now);
  base::Status post_send(Qpn qpn, const SendWr& wr);
  // Posts a kRegister or kRegisterSend, which post_send() refuses, and returns the key of the new
  // region. Later work requests of this queue pair may use the key without waiting. The region
  // begins at memory().start_of(key) [S002-30].
  base::Result<MemoryHandle> post_register(Qpn qpn, const SendWr& wr, const NewRegion& region);
  // SQD -> RTS, after a registration that failed or any other drain [S002-32].
  base::Status resume_sq(Qpn qpn);
  base::Status post_recv(Qpn qpn, const RecvWr& wr);
  Qp* find_qp(Qpn qpn) { return qps_.find(qpn); }
  std::size_t qp_count() const { return qps_.size() + streams_.size(); }

  // The end-to-end contexts: each pair of nodes needs one, which all their RD queue pairs share
  // [S000-12]. Their two ends are described in CONNECT and connected as queue pairs are.
  EeTable& contexts() { return contexts_; }
  // IPv6 datagrams that match go to this Raw queue pair until it is destroyed [S000-14].
  base::Status add_raw_filter(Qpn qpn, const RawFilter& filter);

  // The description of a queue pair for CONNECT. Its start numbers were drawn at creation, or when
  // it went to RESET. The connection manager adds what depends on the link.
  MgmtPair describe(Qpn qpn, std::uint8_t channel, std::uint32_t msg_max);
  // Takes the queue pair from RESET or INIT to RTS with the peer's description, over this link.
  // Returns an error and changes nothing if the services differ or the queue pair is connected
  // [S000-11].
  base::Status connect_qp(const MgmtPair& mine, const MgmtPair& theirs, Link& link);

  // Makes the way to the adapter's own queue pairs, once, and returns the link to connect() over;
  // CONNECT then comes in at this adapter's handler, over the other end of that link. It is up
  // after some iterations, and on_link_up() is called for both ends. Takes no port of the limits.
  base::Result<Link*> open_loopback(base::Time now);
  // Takes two queue pairs of this adapter, of one connected service, from RESET or INIT to RTS,
  // each bound to the other [S000-11]. Returns an error and changes nothing if the loopback is not
  // up, if the services differ or if one of them is connected.
  base::Status connect_local(Qpn one, Qpn other);

  ConnectionManager& connections() { return connections_; }

  // One iteration with at most batches_max receive batches per port. Returns true if any work was
  // done. The next call is due at deadline(); if that is not in the future, work is left.
  bool poll(base::Time now, unsigned batches_max = 16);
  // The first half of poll(). Replies wait for transmit(), so that an owner that forwards frames
  // can post them first and its peers wake once.
  bool receive(base::Time now, unsigned batches_max = 16);
  // The second half: sends replies and what was posted since the last iteration.
  void transmit(base::Time now);
  base::Time deadline() const;
  bool wants_write() const;
  void on_writable(base::Time now);

  void visit_counters(const base::CounterVisitor& visitor) const;
  const base::Counters<TransportCounter>& counters() const { return counters_; }

 private:
  void on_link_up(Link& link) override;
  void on_link_down(Link& link, std::string_view why) override;
  void on_peer_restarted(Link& link) override;
  void on_path_narrowed(Link& link) override { connections_.on_path_narrowed(link); }
  void on_duplicate(Link& link, std::string_view from) override {
    connections_.on_duplicate(link, from);
  }
  void on_refused(Link& link, InitReason reason) override;
  void on_batch(Link& link, std::span<const ReceivedCell> cells, base::Time now);
  // adapter_services.cc
  Qp* find_rd(Qpn qpn) override;
  void wake(Qp& qp) override { activate(qp); }
  void on_service_cell(Link& link, const CellView& cell, CellError error, base::Time now);
  void on_raw_cell(const CellView& cell);
  Qp* on_cell(Link& link, const ReceivedCell& cell, base::Time now);
  base::Status check(const CommonInit& common) const;
  base::Result<Port*> insert_port(Underlay& underlay, const PortConfig& config);
  void activate(Qp& qp);
  // adapter_links.cc
  void span_links(Qp& qp, std::uint16_t mcp);
  void use_link(Qp& qp, Link& link);
  void lose_link(Qp& qp, const Link& link);
  bool leave_link(Qp& qp, const Link& link);
  void move_closing(const Link& from);
  Link* link_by_lid(Lid lid);
  std::optional<Qpn> pick_qpn(base::Time now);

  AdapterLimits limits_;
  base::Random& random_;
  Mrwt memory_;
  base::Counters<TransportCounter> counters_;
  std::vector<std::unique_ptr<CompletionQueue>> cqs_;
  EeTable contexts_;  // outlives the queue pairs
  RawFilters raw_filters_;
  QpTable qps_;
  StreamTable streams_;
  std::vector<Qp*> active_;
  std::size_t next_active_ = 0;         // sends first in the next iteration
  std::unique_ptr<Loopback> loopback_;  // outlives its ports
  std::vector<std::unique_ptr<Port>> ports_;
  ConnectionManager connections_;
  std::uint32_t last_pd_ = 0;
  std::map<const Link*, RefusalLog> refusals_;  // since the link was up
  bool has_more_ = false;                       // transmit() stopped for fairness
  base::Time now_{};
  CellView cell_;  // scratch: the received cell
};

}  // namespace splitnic::fabric
