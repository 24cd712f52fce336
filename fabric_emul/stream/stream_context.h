// The state that the two halves of one STREAM queue pair share: identity, tables, completion
// queues, and the fault that ends the stream. Thread: the data thread.
#pragma once

#include <optional>

#include "base/counters.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/stream/stream_counters.h"
#include "fabric_emul/transport/cq.h"
#include "fabric_emul/transport/qp_state.h"
#include "fabric_emul/wire/terminate.h"

namespace splitnic::fabric {

// The operations that the stream takes. docs/protocol/stream.md#kinds
enum class StreamKind : std::uint8_t { kPlain, kRdma, kIscsi };

struct StreamContext {
  Mrwt& mrwt;
  base::Counters<StreamCounter>& counters;
  CompletionQueue& send_cq;
  CompletionQueue& recv_cq;
  Qpn qpn{};
  PdId pd{};
  PartitionKey partition = kDefaultPartition;  // one of the adapter's
  std::uint8_t sl = 0;
  StreamKind kind = StreamKind::kRdma;
  bool takes_dereg = false;  // the peer's Sends may deregister memory that it was given
  // The link to the one remote queue pair.
  Link* link = nullptr;
  Lid remote_lid{};
  Qpn remote_qpn{};
  std::uint16_t mcp = 0;
  QpState state = QpState::kInit;    // kInit, kRts, kErr
  bool has_failed = false;           // goes to ERR between cells
  std::optional<Terminate> cause{};  // with has_failed: the TERMINATE that the peer gets

  void complete(CompletionQueue& cq, Wc wc) {
    wc.qpn = qpn;
    if (cq.push(wc)) return;
    counters.add(StreamCounter::kCqOverflow);
    fail();
  }
  void fail(const std::optional<Terminate>& terminate = {}) {
    if (has_failed) return;
    has_failed = true;
    cause = terminate;
  }
  MacHeader header(Op op, Pos pos) const {
    MacHeader h;
    h.op = op;
    h.pos = pos;
    h.service = Service::kStream;
    h.dlid = remote_lid;
    h.slid = link->local_lid();
    h.dqpn = remote_qpn;
    h.sqpn = qpn;
    h.partition = partition;
    h.sl = sl;
    return h;
  }
};

}  // namespace splitnic::fabric
