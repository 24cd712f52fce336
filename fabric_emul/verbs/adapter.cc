#include "fabric_emul/verbs/adapter.h"

#include <algorithm>
#include <cerrno>

#include "base/event.h"
#include "base/log.h"
#include "fabric_emul/link/link_refusal.h"
#include "fabric_emul/transport/service.h"
#include "fabric_emul/verbs/context_of.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kLidNumberMax = 0xFFFF;  // of 16 bits: LIDs of an adapter are its own
constexpr std::uint16_t kMinRnrTimer = 10;     // x 10 us

}  // namespace

Adapter::Adapter(const AdapterLimits& limits, base::Random& random, bool identity_keys)
    : limits_(limits),
      random_(random),
      memory_(limits.memory_entries, random, identity_keys, limits.profile, limits.att_pages),
      contexts_(limits.ee_contexts, limits_.partitions, random, *this, counters_),
      qps_(limits.qps, random),
      streams_(memory_, random),
      connections_(random, limits_.partitions) {}

Adapter::~Adapter() = default;

base::Result<Port*> Adapter::add_port(Underlay& underlay, const PortConfig& config) {
  if (ports_.size() - (loopback_ ? 2 : 0) >= limits_.ports) {
    return base::Error("the adapter has no room for another port");
  }
  return insert_port(underlay, config);
}

base::Result<Port*> Adapter::insert_port(Underlay& underlay, const PortConfig& config) {
  for (const auto& port : ports_) {
    // A node has one identity to all peers that it connects to, each over a port.
    const bool is_listener = config.listens || port->config().listens;
    if (is_listener && port->config().eui64 == config.eui64) {
      return base::Error("another port of this adapter has the same address");
    }
  }
  std::size_t lid_base = 0;
  for (const auto& port : ports_) lid_base += 1 + port->config().links_max;
  if (config.links_max > kLidNumberMax || lid_base + 1 + config.links_max > kLidNumberMax) {
    return base::Error("the ports of an adapter have too many links");
  }
  PortConfig own = config;
  own.lid_base = static_cast<std::uint16_t>(lid_base);
  LinkObserver& observer = *this;
  ports_.push_back(std::make_unique<Port>(underlay, own, random_, observer));
  return ports_.back().get();
}

base::Result<CqId> Adapter::create_cq(std::size_t depth, base::MemoryAccount* memory,
                                      CompletionNotifier* notifier) {
  if (depth == 0 || depth > kCqDepthMax) {
    return base::Error("a completion queue has 1 to " + std::to_string(kCqDepthMax) + " entries",
                       EINVAL);
  }
  const auto free = std::find(cqs_.begin(), cqs_.end(), nullptr);
  if (free == cqs_.end() && cqs_.size() >= limits_.cqs) {
    return base::Error("no completion queue is left");
  }
  base::MemoryCharge charge(memory);
  if (!charge.add(CompletionQueue::bytes_of(depth))) return base::account_error();
  const CqId number(static_cast<std::uint32_t>(free - cqs_.begin()));
  auto made = std::make_unique<CompletionQueue>(depth, std::move(charge), notifier, number);
  if (free == cqs_.end())
    cqs_.push_back(std::move(made));
  else
    *free = std::move(made);
  return number;
}

base::Status Adapter::arm_cq(CqId cq, CqEvents events) {
  CompletionQueue& queue = *cqs_[cq.value];
  if (!queue.can_be_armed()) {
    return base::Error("a completion queue without a notifier cannot be armed: create it with one",
                       EINVAL);
  }
  queue.arm(events);
  return {};
}

void Adapter::destroy_cq(CqId cq) {
  bool in_use = streams_.uses_cq(*cqs_[cq.value]);
  qps_.for_each([&](const Qp& qp) { in_use |= qp.uses_cq(*cqs_[cq.value]); });
  CHECK(!in_use);
  cqs_[cq.value].reset();
}

base::Status Adapter::check(const CommonInit& common) const {
  const auto is_depth = [](std::size_t depth) { return depth > 0 && depth <= kWorkQueueDepthMax; };
  if (!is_depth(common.send_depth) || !is_depth(common.receive_depth)) {
    return base::Error(
        "each queue of a queue pair has 1 to " + std::to_string(kWorkQueueDepthMax) + " entries",
        EINVAL);
  }
  if (common.max_dest_rd_atomic > kReadsMax || common.max_rd_atomic > kReadsMax) {
    return base::Error("at most " + std::to_string(kReadsMax) + " reads can be open", EINVAL);
  }
  if (!limits_.partitions.has(common.partition)) {
    return base::Error("this node is no member of partition " + text_of(common.partition), EINVAL);
  }
  if (common.sl > kSlMax) {
    return base::Error("there are service levels 0 to " + std::to_string(kSlMax), EINVAL);
  }
  return {};
}

std::optional<Qpn> Adapter::pick_qpn(base::Time now) {
  if (qp_count() >= limits_.qps) return std::nullopt;
  for (;;) {
    const auto qpn = qps_.pick(now);
    if (!qpn || !streams_.contains(*qpn)) return qpn;
  }
}

base::Result<Qpn> Adapter::create_qp(const QpInit& init, base::Time now) {
  const CommonInit& common = init.common;
  if (auto ok = check(common); !ok) return ok.error();
  if (init.max_outstanding > kPsnWindowMax) {
    return base::Error("at most " + std::to_string(kPsnWindowMax) + " packets can be outstanding",
                       EINVAL);
  }
  if (!has_modify(init.service)) {
    return base::Error(init.service == Service::kStream
                           ? "a queue pair of service STREAM is made by create_stream()"
                           : "no queue pair of this service can be made",
                       EINVAL);
  }
  CHECK(cqs_[common.send_cq.value] != nullptr && cqs_[common.recv_cq.value] != nullptr);
  const auto qpn = pick_qpn(now);
  if (!qpn) return base::Error("the adapter has no queue pair left");
  auto context = context_of<QpContext>(common, *qpn, memory_, counters_,
                                       *cqs_[common.send_cq.value], *cqs_[common.recv_cq.value]);
  context.service = init.service;
  context.attr.sl = common.sl;
  context.accepts_rdma = init.accepts_rdma && limits_.accepts_rdma;
  context.has_datagram_rdma = init.service == Service::kUd && init.has_datagram_rdma;
  if (init.service == Service::kRd) context.contexts = &contexts_;
  context.predicts_headers = limits_.predicts_headers;
  context.registers_in_queue = init.registers_in_queue;
  context.wants_links = init.spans_links && init.service == Service::kRc && init.selective_repeat;
  context.failure_option = init.failure_option;
  // If cells pass switches, only the packet CRC is end to end.
  context.wants_packet_crc = init.packet_crc || std::ranges::any_of(ports_, [](const auto& port) {
                               return port->profile() == LinkProfile::kFull;
                             });
  context.attr.mcp = common.mcp;
  context.attr.max_outstanding = init.max_outstanding != 0
                                     ? init.max_outstanding
                                     : static_cast<std::uint32_t>(common.send_depth);
  context.attr.ack_interval = init.ack_interval;
  context.attr.retry_count = common.retry_count;
  context.attr.rnr_retry = init.rnr_retry;
  context.attr.min_rnr_timer = kMinRnrTimer;
  context.attr.selective_repeat = init.selective_repeat;
  context.attr.max_dest_rd_atomic = common.max_dest_rd_atomic;
  context.attr.max_rd_atomic = common.max_rd_atomic;
  context.attr.send_psn = Psn(random_.next32());
  context.attr.send_lcn = Lcn(random_.next32());
  QpLimits limits;
  limits.send.depth = common.send_depth;
  limits.send.window_bytes_max = init.window_bytes_max;
  limits.send.fixed_rto = common.fixed_rto;
  limits.send.stall_min = common.stall_min;
  limits.receive.depth = common.receive_depth;
  limits.receive.reorder_bytes_max = kSpanWindows * init.window_bytes_max;
  context.memory = common.memory;
  base::MemoryCharge charge(common.memory);
  if (!charge.add(Qp::table_bytes(init.service, limits))) return base::account_error();
  qps_.insert(*qpn, std::make_unique<Qp>(context, limits, std::move(charge)));
  return *qpn;
}

base::Result<Qpn> Adapter::create_stream(const StreamInit& init, base::Time now) {
  const CommonInit& common = init.common;
  if (auto ok = check(common); !ok) return ok.error();
  if (init.kind == StreamKind::kRdma && !limits_.accepts_rdma) {
    return base::Error("this adapter accepts no RDMA: create a STREAM of another kind", EINVAL);
  }
  CHECK(cqs_[common.send_cq.value] != nullptr && cqs_[common.recv_cq.value] != nullptr);
  const auto qpn = pick_qpn(now);
  if (!qpn) return base::Error("the adapter has no queue pair left");
  const auto made =
      streams_.create(*qpn, init, *cqs_[common.send_cq.value], *cqs_[common.recv_cq.value]);
  if (!made) return made.error();
  return *qpn;
}

base::Status Adapter::modify_qp(Qpn qpn, QpState to, AttrMask given, const QpAttr& values) {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return base::Error("no such queue pair");
  const bool binds = to == QpState::kRtr && is_connected(qp->service());
  Link* link = binds ? link_by_lid(values.remote_lid) : nullptr;
  if (binds && link == nullptr) return base::Error("no link leads to that address", EINVAL);
  auto done = qp->modify(to, given, values);
  // Nobody has described the peer's queue pair, but behind routers both ends send the packet CRC.
  if (done && binds) qp->connect(*link, link->crosses_routers());
  if (done && to == QpState::kReset) {
    const Psn psn(random_.next32());
    const Lcn lcn(random_.next32());
    qp->set_start(psn, lcn);
  }
  return done;
}

base::Status Adapter::prepare_qp(Qpn qpn) {
  const Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return base::Error("no such queue pair");
  return modify_qp(qpn, QpState::kInit,
                   required_attributes(qp->service(), QpState::kReset, QpState::kInit), qp->attr());
}

void Adapter::destroy_qp(Qpn qpn, base::Time now) {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr && !streams_.destroy(qpn)) return;
  std::erase(active_, qp);
  raw_filters_.remove(qpn);
  qps_.erase(qpn, now);
}

base::Status Adapter::post_send(Qpn qpn, const SendWr& wr) {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return streams_.post_send(qpn, wr);
  auto posted = qp->post_send(wr);
  if (posted) activate(*qp);
  return posted;
}

base::Status Adapter::post_recv(Qpn qpn, const RecvWr& wr) {
  Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return streams_.post_recv(qpn, wr, now_);
  return qp->post_recv(wr);
}

MgmtPair Adapter::describe(Qpn qpn, std::uint8_t channel, std::uint32_t msg_max) {
  if (const StreamQp* stream = streams_.find(qpn)) return StreamTable::describe(*stream, channel);
  const Qp* qp = qps_.find(qpn);
  CHECK(qp != nullptr);
  MgmtPair pair;
  pair.channel = channel;
  pair.service = qp->service();
  pair.qpn = qpn;
  pair.start_psn = qp->attr().send_psn;
  pair.start_lcn = qp->attr().send_lcn;
  pair.mcp = qp->attr().mcp;
  if (qp->wants_packet_crc()) pair.flags |= kPairPacketCrc;
  if (!qp->attr().selective_repeat) pair.flags |= kPairGoBackN;
  if (qp->wants_links()) pair.flags |= kPairLinks;
  pair.receive_credits = qp->receive_credits();
  pair.max_dest_rd_atomic = qp->attr().max_dest_rd_atomic;
  pair.msg_max = msg_max;
  return pair;
}

base::Status Adapter::connect_qp(const MgmtPair& mine, const MgmtPair& theirs, Link& link) {
  if (theirs.mcp != 0 && theirs.mcp < link.mcp_min()) {
    return base::Error("the peer's queue pair takes short cells only", EINVAL);
  }
  if (StreamQp* stream = streams_.find(mine.qpn)) {
    return StreamTable::connect(*stream, mine, theirs, link);
  }
  Qp* qp = qps_.find(mine.qpn);
  if (qp == nullptr) return base::Error("no such queue pair");
  if (qp->service() != theirs.service) {
    return base::Error("the peer's queue pair has another service", EINVAL);
  }
  if (qp->state() != QpState::kReset && qp->state() != QpState::kInit) {
    return base::Error("the queue pair is connected", EISCONN);
  }
  QpAttr attr = qp->attr();
  attr.remote_lid = link.remote_lid();
  attr.remote_qpn = theirs.qpn;
  attr.receive_psn = theirs.start_psn;
  attr.receive_lcn = theirs.start_lcn;
  attr.mcp = link.mcp();
  if (mine.mcp != 0) attr.mcp = std::min(attr.mcp, mine.mcp);
  if (theirs.mcp != 0) attr.mcp = std::min(attr.mcp, theirs.mcp);
  attr.max_rd_atomic = std::min(attr.max_rd_atomic, theirs.max_dest_rd_atomic);
  if ((theirs.flags & kPairGoBackN) != 0) attr.selective_repeat = false;
  // The steps that lead to RTS; those before the current state are skipped.
  constexpr auto kSteps = std::to_array<QpEdge>({{QpState::kReset, QpState::kInit},
                                                 {QpState::kInit, QpState::kRtr},
                                                 {QpState::kRtr, QpState::kRts}});
  const auto mask = [&](const QpEdge& step) {
    return required_attributes(qp->service(), step.from, step.to) |
           optional_attributes(qp->service(), step.from, step.to);
  };
  for (const QpEdge& step : kSteps) {
    const auto legal = check_modify(qp->service(), step.from, step.to, mask(step), attr);
    if (!legal) return legal.error().within("connecting a queue pair");
  }
  if (is_connected(qp->service())) qp->connect(link, (theirs.flags & kPairPacketCrc) != 0);
  const bool is_agreed = qp->wants_links() && (theirs.flags & kPairLinks) != 0;
  if (is_agreed && attr.selective_repeat) span_links(*qp, attr.mcp);
  qp->set_receive_credits(theirs.receive_credits);
  for (const QpEdge& step : kSteps) {
    if (qp->state() != step.from) continue;
    const auto done = qp->modify(step.to, mask(step), attr);
    CHECK(done.has_value());
  }
  return {};
}

void Adapter::activate(Qp& qp) {
  if (qp.is_in_active_list) return;
  qp.is_in_active_list = true;
  active_.push_back(&qp);
}

Link* Adapter::link_by_lid(Lid lid) {
  for (const auto& port : ports_) {
    if (Link* link = port->by_lid(lid); link != nullptr && link->up()) return link;
  }
  return nullptr;
}

void Adapter::on_link_up(Link& link) {
  refusals_.erase(&link);
  qps_.for_each([&](Qp& qp) {
    use_link(qp, link);
    if (qp.link() == &link) qp.on_link_back(now_);
  });
  streams_.on_link_back(link, now_);
  contexts_.on_link_back(link, now_);
  if (loopback_ && loopback_->far() != nullptr) {
    connections_.set_loopback(*loopback_->near, *loopback_->far());
  }
  connections_.on_link_up(link, now_);
}

void Adapter::on_refused(Link& link, InitReason reason) {
  if (!refusals_[&link].note(reason, now_)) return;
  base::log_warn({base::EventKind::kRefused, link.peer_name()},
                 link.peer_name() + " refuses the link: " + link_refusal(reason, LinkEnds::kNodes));
}

// A link that is down keeps its queue pairs: they continue when it is back, or time out. Those that
// span links continue by another one.
void Adapter::on_link_down(Link& link, std::string_view why) {
  qps_.for_each([&](Qp& qp) { lose_link(qp, link); });
  move_closing(link);
  connections_.on_link_down(link, why);
}

// Another process has taken the peer's place: the queue pairs to the old one end [X-46] [F-48].
void Adapter::on_peer_restarted(Link& link) {
  qps_.for_each([&](Qp& qp) {
    if (leave_link(qp, link)) return;
    // One that was reset keeps its former link, and is not connected.
    const bool is_bound = qp.state() != QpState::kReset && qp.state() != QpState::kInit;
    if (qp.link() == &link && is_bound) qp.enter_error();
  });
  contexts_.on_peer_restarted(link);
  streams_.on_peer_restarted(link);
  connections_.on_peer_restarted(link);
}

void Adapter::visit_counters(const base::CounterVisitor& visitor) const {
  counters_.visit(visitor);
  streams_.counters().visit(visitor);
  connections_.visit_counters(visitor);
  for (const auto& port : ports_) port->visit_counters(visitor);
}

}  // namespace splitnic::fabric
