// The state that the requester and the responder of one queue pair share: identity, attributes, the
// tables that its accesses are checked against, the completion queues, and the fault that either of
// them found. Thread: the data thread.
#pragma once

#include <optional>

#include "base/counters.h"
#include "base/memory_account.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/transport/cq.h"
#include "fabric_emul/transport/path_set.h"
#include "fabric_emul/transport/qp_attr.h"
#include "fabric_emul/transport/qp_state.h"
#include "fabric_emul/transport/transport_counters.h"
#include "fabric_emul/transport/work_request.h"
#include "fabric_emul/wire/mac_header.h"
#include "fabric_emul/wire/op_table.h"

namespace splitnic::fabric {

// The largest distance, in cells, from the oldest missing cell of an RC queue pair to its newest:
// twice the reach of an ACK's bitmap (64 words), so that sending continues while a loss is
// repaired. Cells beyond the bitmap count as in flight until the oldest is repaired.
inline constexpr std::size_t kWindowCells = 4096;
// The same limit in bytes, as a number of congestion windows.
inline constexpr std::size_t kSpanWindows = 3;

class EeTable;

struct QpContext {
  Mrwt& mrwt;
  base::Counters<TransportCounter>& counters;
  CompletionQueue& send_cq;
  CompletionQueue& recv_cq;
  Qpn qpn{};
  Service service = Service::kRc;
  PdId pd{};
  PartitionKey partition = kDefaultPartition;  // one of the adapter's
  Link* link = nullptr;                        // connected services: where the remote queue pair is
  PathSet paths{};  // the same: how cells get there, by that link at least
  QpState state = QpState::kReset;
  QpAttr attr{};
  EeTable* contexts = nullptr;      // RD: those of the adapter
  bool takes_dereg = false;         // Send with deregister ends what the peer was given
  bool accepts_rdma = true;         // the queue pair and its adapter do [S000-01]
  bool has_datagram_rdma = false;   // UD: sends and takes RDMA writes of one cell
  bool predicts_headers = true;     // long RDMA writes are sent and taken in runs
  bool wants_packet_crc = false;    // its owner or its port does, whatever the link
  bool sets_packet_crc = false;     // the cells we send carry flag P, docs/protocol/cell.md#crcs
  bool checks_packet_crc = false;   // the peer sets flag P
  std::optional<WcStatus> fault{};  // set by requester or responder: the queue pair goes to ERR
  bool has_send_fault = false;      // all but RC: the send queue goes to SQE
  bool has_drain_fault = false;     // the send queue goes to SQD [S002-32]
  bool registers_in_queue = false;  // Enable Send Queue based registration [S002-29]
  bool wants_links = false;         // RC: spans links if its peer does [S000-46]
  FailureOption failure_option = FailureOption::kReactive;
  std::optional<MemoryHandle> terminates{};  // RC: a TERMINATE reports the fault of this key
  bool has_refused_access = false;           // a remote access error was reported to the peer
  base::MemoryAccount* memory = nullptr;     // of the peer; null: there is none

  // The header of a cell to the remote queue pair over `over`; the caller sets the sequence
  // numbers, the payload length and the flags.
  MacHeader header(Op op, Pos pos, const Link& over) const {
    MacHeader h;
    fill_header(h, op, pos, over);
    return h;
  }
  // The same in place, for the data path: a header that is moved is written twice.
  void fill_header(MacHeader& h, Op op, Pos pos, const Link& over) const {
    h.sl = attr.sl;
    h.pos = pos;
    h.op = op;
    h.service = service;
    h.dlid = attr.remote_lid;
    h.slid = over.local_lid();
    h.dqpn = attr.remote_qpn;
    h.sqpn = qpn;
    h.partition = partition;
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
