// A queue pair of the STREAM service: a reliable stream of bytes to exactly one remote queue pair
// [S002-01]. Work requests and completions are those of the other services. It takes cells and
// time, passes cells to the link, and does no I/O itself. Thread: the data thread.
//
//   state   post send  post receive  cells in                  cells out
//   INIT    refused    taken         dropped                   none
//   RTS     taken      taken         taken                     all
//   ERR     flushed    flushed       TERMINATE is acknowledged TERMINATE, until acknowledged
//
// Kinds: plain takes Sends only. RDMA takes Send with deregister, RDMA write and RDMA read too; a
// read's gather list is one piece that has the remote write right, a window in the strict profile.
// iSCSI opens and takes Sends only: this version has no work request for ISCSI_PDU and drops such
// cells. docs/protocol/stream.md
#pragma once

#include "fabric_emul/stream/stream_receiver.h"
#include "fabric_emul/stream/stream_sender.h"

namespace splitnic::fabric {

struct StreamLimits {
  StreamSendLimits send;
  StreamReceiveLimits receive;
  std::uint16_t max_dest_rd_atomic = 0;
};

// The remote queue pair and the values agreed with it.
struct StreamPeer {
  Lid lid;
  Qpn qpn;
  std::uint16_t mcp = 0;
  StreamNumber receive_number;
  Psn receive_psn;
  StreamStart send;
};

class StreamQp {
 public:
  StreamQp(const StreamContext& context, const StreamLimits& limits);
  StreamQp(const StreamQp&) = delete;
  StreamQp& operator=(const StreamQp&) = delete;

  // INIT -> RTS. Refused: the stream is connected, or a window holds fewer than two cells.
  base::Status connect(Link& link, const StreamPeer& peer);
  base::Status post_send(const SendWr& wr);
  base::Status post_recv(const RecvWr& wr, base::Time now);

  // A cell for this queue pair; `bytes` is its size.
  void on_cell(const CellView& cell, std::size_t bytes, const Link& link, base::Time now);
  // A cell whose CRC is right and whose format is not.
  void on_malformed() { context_.counters.add(StreamCounter::kDropFormat); }
  // Sends the replies that the batch made due.
  void end_batch(base::Time now);
  // Sends up to cells_max cells; returns how many.
  unsigned transmit(base::Time now, unsigned cells_max);
  void on_time(base::Time now);
  void on_link_back(base::Time now) { sender_.on_link_back(now); }
  base::Time deadline() const;
  // To ERR at once, without TERMINATE: everything queued completes as flushed.
  void enter_error();

  Qpn qpn() const { return context_.qpn; }
  PdId pd() const { return context_.pd; }
  StreamKind kind() const { return context_.kind; }
  QpState state() const { return context_.state; }
  const Link* link() const { return context_.link; }
  std::uint16_t max_dest_rd_atomic() const { return limits_.max_dest_rd_atomic; }
  std::uint16_t receive_credits() const { return receiver_.receive_credits(); }
  std::uint32_t window_bytes() const { return receiver_.window().bytes(); }
  StreamNumber next_number() const { return sender_.next_number(); }
  StreamNumber expected_number() const { return receiver_.window().expected(); }
  bool uses_cq(const CompletionQueue& cq) const {
    return &context_.send_cq == &cq || &context_.recv_cq == &cq;
  }

  // Chosen by the owner at creation, for CONNECT.
  std::uint16_t start_lcn = 0;
  Psn start_psn;
  std::uint16_t mcp_wanted = 0;

 private:
  // Our TERMINATE, which the peer has not acknowledged.
  struct Farewell {
    Terminate terminate;
    StreamNumber number;
    unsigned tries = 0;
    base::Time at{};
    base::Duration wait{};
  };

  bool is_from_peer(const MacHeader& h, const Link& link) const;
  bool can_send() const { return context_.link != nullptr && context_.link->up(); }
  void on_ack(const CellView& cell, base::Time now);
  void on_terminate(const CellView& cell, std::size_t bytes);
  void settle(base::Time now);
  void send_farewell(base::Time now);
  bool emit_terminate();

  StreamContext context_;
  StreamLimits limits_;
  ReadQueue reads_;
  StreamSender sender_;
  StreamReceiver receiver_;
  std::optional<Farewell> farewell_;
  std::optional<StreamNumber> terminate_ack_;  // number in the ACK of the peer's TERMINATE
};

}  // namespace splitnic::fabric
