// A queue pair: one service chosen at creation, one adapter, a requester and a responder, and the
// state that decides what each may do [S000-01]. Owned by the adapter's table; used on the data
// thread only.
//
//   state   post send  post receive  cells in      cells out
//   RESET   refused    refused       dropped       none
//   INIT    refused    taken         dropped       none
//   RTR     refused    taken         taken         replies only
//   RTS     taken      taken         taken         all
//   SQD     taken      taken         taken         replies, started packets (the queue drains)
//   SQE     flushed    taken         taken         none (UC, UD)
//   ERR     flushed    flushed       dropped       a last NAK, or a TERMINATE
#pragma once

#include <utility>
#include <vector>

#include "fabric_emul/transport/rd_requester.h"
#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/responder.h"
#include "fabric_emul/transport/service.h"
#include "fabric_emul/wire/terminate.h"

namespace splitnic::fabric {

struct QpLimits {
  RequesterLimits send;
  ResponderLimits receive;
};

class Qp {
 public:
  // `charge` is that of its tables.
  Qp(const QpContext& context, const QpLimits& limits,
     base::MemoryCharge charge = base::MemoryCharge());
  // The bytes of a queue pair of these limits, at most, without cells that came early.
  static std::size_t table_bytes(Service service, const QpLimits& limits);
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  // Changes the state and the attributes that `given` names, or changes nothing.
  base::Status modify(QpState to, AttrMask given, const QpAttr& values);
  base::Status post_send(const SendWr& wr);
  // As Requester::post_register(); refused unless the queue pair was created for it [S002-29].
  // Where posts are flushed, the key that it returns is invalid already.
  base::Result<MemoryHandle> post_register(const SendWr& wr, const NewRegion& region);
  // SQD -> RTS after a registration failed, or whenever the queue was drained; work requests that
  // were posted meanwhile are sent. Refused while work requests before the failed one are not
  // complete [S002-32].
  base::Status resume_sq();
  // Returns true once each time that the queue pair is in SQD and every started packet is complete
  // [T-26].
  bool take_drained() { return std::exchange(has_drained_, false); }
  // The TERMINATE by which the peer ended this queue pair, if it sent one.
  const std::optional<Terminate>& ended_by_peer() const { return ended_by_peer_; }
  base::Status post_recv(const RecvWr& wr);

  // A cell for this number; identity and state are checked here [S001-31].
  void on_cell(const CellView& cell, base::Bytes raw, Link& link, base::Time now);
  // Those of `cells` that continue a run behind a cell of this batch that on_cell() got, whose
  // header is `before`; returns how many. Responder::take_run()
  std::size_t take_run(std::span<const ReceivedCell> cells, const MacHeader& before,
                       const Link& link, base::Time now);
  // A cell whose CRC is right and whose format is not: refused if its service has refusals.
  void on_malformed(const MacHeader& header, const Link& link);
  // Sends the replies that the batch made due; then errors take effect.
  void end_batch(base::Time now);
  // Sends up to cells_max cells; `by_lid` finds links for connectionless destinations.
  template <class ByLid>
  unsigned transmit(base::Time now, unsigned cells_max, ByLid&& by_lid);
  void on_time(base::Time now);
  // Its link was down and is up again.
  void on_link_back(base::Time now) { requester_.on_link_back(now); }
  base::Time deadline() const;

  bool is_active() const {
    return requester_.has_unsent() || responder_.has_reply_due() ||
           responder_.has_responses_due() || is_terminate_due_ || deadline() != base::kNever;
  }
  // The adapter forgets it: no end-to-end context may use it any more.
  ~Qp();
  // To ERR at once: everything queued completes as flushed, in order [T-16].
  void enter_error();
  // Connected services: where the remote queue pair is. Between INIT and RTR. Behind routers only
  // the packet CRC is end to end [S000-33].
  void connect(Link& link, bool peer_sends_packet_crc) {
    context_.link = &link;
    context_.paths.begin(link);
    context_.sets_packet_crc = context_.wants_packet_crc || link.crosses_routers();
    context_.checks_packet_crc = peer_sends_packet_crc;
  }
  // Both ends take cells of this connection on each link between the two nodes, qp_links.cc
  // [S000-46]. Behind connect(); `mcp` is that of the connection.
  bool wants_links() const { return context_.wants_links; }
  void span_links(std::uint16_t mcp) { context_.paths.span(context_.attr.sl, mcp); }
  const PathSet& paths() const { return context_.paths; }
  // A link of the adapter is up: it is used if it leads to the same node. Returns true if it stands
  // for this queue pair from now on, because the one that did is down.
  bool join_link(Link& link);
  // A link is down: what is in flight by it is sent by the others. Returns true if another one
  // stands for this queue pair from now on.
  bool lose_link(const Link& link);
  // The link is another peer's from now on. Returns true if this queue pair had it and continues
  // without it. Returns false where it is the link that stands for it and no other is up: then it
  // spans links no more.
  bool leave_link(const Link& link);
  void set_receive_credits(std::uint16_t credits) { peer_credits_ = credits; }
  // The first numbers that its next connection sends, unless modify() gives others. REQUIRES RESET.
  void set_start(Psn psn, Lcn lcn) {
    context_.attr.send_psn = psn;
    context_.attr.send_lcn = lcn;
  }

  // RD, qp_rd.cc. The calls of an end-to-end context, for the message that is in flight on it.
  std::size_t emit_rd(Link& link, const EePlace& place);
  void on_rd_result(WcStatus status);
  void on_rd_rnr(base::Duration wait, base::Time now);
  void on_rd_response(const CellView& cell);
  // The cells of the next message, which next_context() has found.
  std::uint32_t rd_cells() const { return requester_.front().cells; }
  // Takes the next cell of a context, and returns the result of its message, or its progress. A
  // response's payload is left in `response`.
  RdResult execute_rd(const CellView& cell, RdMessage& message, std::vector<std::byte>& response);
  // The message ends without its other cells.
  void drop_rd(RdMessage& message) { responder_.drop_rd(message); }
  // Takes an IPv6 datagram that a filter has selected, Raw.
  void on_raw(const CellView& cell);

  Qpn qpn() const { return context_.qpn; }
  Service service() const { return context_.service; }
  QpState state() const { return context_.state; }
  const QpAttr& attr() const { return context_.attr; }
  Link* link() const { return context_.link; }
  const Requester& requester() const { return requester_; }
  const Responder& responder() const { return responder_; }
  // A remote access error of the peer has ended this queue pair.
  bool has_refused_access() const { return context_.has_refused_access; }
  bool wants_packet_crc() const { return context_.wants_packet_crc; }
  // Of one that is connected.
  bool sends_packet_crc() const { return context_.sets_packet_crc; }
  bool uses_cq(const CompletionQueue& cq) const {
    return &context_.send_cq == &cq || &context_.recv_cq == &cq;
  }
  std::uint16_t receive_credits() const { return responder_.receive_credits(); }

  bool is_in_active_list = false;  // the adapter's bookkeeping

 private:
  // The PSN of a TERMINATE may be this far ahead of the requests that arrived.
  static constexpr std::int32_t kTerminateAheadMax = 1 << 16;

  bool may_send() const {
    return context_.state == QpState::kRts || context_.state == QpState::kSqd;
  }
  // A failure that was found takes effect when the NAK that is due has left: until then no reply
  // and no timeout counts.
  bool expects_replies() const { return may_send() && !context_.fault; }
  bool may_receive() const {
    return context_.state == QpState::kRtr || context_.state == QpState::kRts ||
           context_.state == QpState::kSqd || context_.state == QpState::kSqe;
  }
  bool is_from_peer(const MacHeader& header, const Link& link) const;
  bool is_in_partition(const MacHeader& header) const {
    return match(context_.partition, header.partition);
  }
  bool admits(const MacHeader& header, const Link& link);
  bool can_reply() const {
    const Link* link = context_.link;
    if (link != nullptr && context_.paths.spans()) return context_.paths.is_any_ready();
    return link != nullptr && link->up() && !link->blocked(link->lane_of(context_.attr.sl));
  }
  void use_as_own(Link& link);
  void on_reply(const CellView& cell, base::Time now);
  void on_response(const CellView& cell, base::Time now);
  void settle();
  void settle_drain();
  void enter_state(QpState to);
  void flush_sends();
  void drop_messages();
  unsigned transmit_rd(base::Time now);
  base::Status post(const SendWr& wr);
  // qp_terminate.cc
  void send_terminate();
  void on_terminate(const CellView& cell);

  QpContext context_;
  Requester requester_;
  RdRequester rd_;  // RD only
  Responder responder_;
  std::uint16_t peer_credits_ = 0xFFFF;
  bool is_draining_ = false;  // in SQD, and not drained yet
  bool has_drained_ = false;
  bool is_terminate_due_ = false;
  std::optional<Terminate> ended_by_peer_;
  AckExt ack_;  // scratch: too large for the stack of every cell
  base::MemoryCharge charge_;
};

template <class ByLid>
unsigned Qp::transmit(base::Time now, unsigned cells_max, ByLid&& by_lid) {
  unsigned sent = 0;
  if (responder_.has_responses_due() && may_receive() && context_.paths.is_any_up()) {
    sent = responder_.send_responses(now, cells_max);
    settle();
  }
  if (!may_send()) return sent;
  if (is_connected(context_.service)) {
    if (context_.paths.is_any_up()) {
      sent += requester_.transmit(*context_.link, now, cells_max - sent);
    }
  } else if (context_.service == Service::kRd) {
    sent += transmit_rd(now);
  } else {
    // Packets have one cell each, so none is started in SQD.
    while (sent < cells_max && requester_.has_unsent() && context_.state == QpState::kRts &&
           !context_.has_send_fault) {
      if (requester_.is_local_next()) {
        if (!requester_.run_next_local(now)) break;
        continue;
      }
      Link* link = by_lid(requester_.next_destination());
      if (link == nullptr) {
        if (!requester_.drop_next()) break;
        continue;
      }
      const bool is_sent = context_.service == Service::kRaw
                               ? requester_.send_raw(*link)
                               : requester_.transmit(*link, now, 1) > 0;
      if (!is_sent) break;
      ++sent;
    }
  }
  settle();
  return sent;
}

}  // namespace splitnic::fabric
