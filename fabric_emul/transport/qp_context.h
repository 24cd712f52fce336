// What the requester and the responder of one queue pair share: identity, attributes, the tables
// that its accesses are checked against, where completions go, and the fault that either of them
// found. Thread: the data thread.
#pragma once

#include <optional>

#include "base/counters.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/transport/cq.h"
#include "fabric_emul/transport/qp_attr.h"
#include "fabric_emul/transport/qp_state.h"
#include "fabric_emul/transport/transport_counters.h"
#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/mac_header.h"
#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

// Cells of an RC queue pair from the oldest that is missing to the newest: twice what an ACK's
// bitmap can speak of (64 words), so that repair does not halt sending. What lies beyond the bitmap
// counts as in flight until the oldest is repaired.
inline constexpr std::size_t kWindowCells = 4096;
// The same in bytes: so many windows.
inline constexpr std::size_t kSpanWindows = 3;

struct QpContext {
  Mrwt& mrwt;
  base::Counters<TransportCounter>& counters;
  CompletionQueue& send_cq;
  CompletionQueue& recv_cq;
  Qpn qpn{};
  Service service = Service::kRc;
  PdId pd{};
  Link* link = nullptr;  // connected services: where the remote queue pair is
  QpState state = QpState::kReset;
  QpAttr attr{};
  bool takes_dereg = false;         // Send with deregister ends what the peer was given
  bool accepts_rdma = true;         // an adapter may refuse incoming RDMA [S000-01]
  bool packet_crc = false;          // flag P on what we send [3.4]
  bool checks_packet_crc = false;   // the peer said that it sets flag P
  std::optional<WcStatus> fault{};  // set by requester or responder: the queue pair goes to ERR
  bool send_fault = false;          // UC, UD: the send queue goes to SQE
  bool drain_fault = false;         // the send queue goes to SQD [S002-32]
  bool registers_in_queue = false;  // Enable Send Queue based registration [S002-29]
  FailureOption failure_option = FailureOption::kReactive;
  std::optional<MemoryHandle> terminates{};  // RC: the fault is told to the peer; of this key
  bool refused_access = false;  // the peer reached for memory that it may not, and was told

  // The header of a cell to the remote queue pair over `over`; the caller sets the sequence
  // numbers, the payload length and the flags.
  MacHeader header(Op op, Pos pos, const Link& over) const {
    MacHeader h;
    h.sl = attr.sl;
    h.pos = pos;
    h.op = op;
    h.service = service;
    h.dlid = attr.remote_lid;
    h.slid = over.local_lid();
    h.dqpn = attr.remote_qpn;
    h.sqpn = qpn;
    return h;
  }
  void count_sent(std::size_t cell_bytes) {
    counters.add(TransportCounter::kTxCells);
    counters.add(TransportCounter::kTxBytes, cell_bytes);
  }
  void complete(CompletionQueue& cq, Wc wc) {
    wc.qpn = qpn;
    if (!cq.push(wc)) {
      counters.add(TransportCounter::kCqOverflow);
      fault = WcStatus::kFlushed;
    }
  }
};

}  // namespace splitnic::fabric
