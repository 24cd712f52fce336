#include "fabric_emul/transport/post_check.h"

#include <cerrno>

#include "fabric_emul/transport/ee_table.h"
#include "fabric_emul/transport/local_operations.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {
namespace {

// RD: the end-to-end context to the destination.
base::Status check_context(const QpContext& context, const SendWr& wr, std::uint64_t bytes) {
  const EeContext* ee = context.contexts->find(wr.destination_ee);
  if (ee == nullptr || !ee->is_ready() || ee->partition() != context.partition) {
    return base::Error(
        "no end-to-end context of this number and partition is connected: EeTable::connect() first",
        EINVAL);
  }
  const bool may_be_long = op_info(wire_op(wr.op), Service::kRd).multi_cell;
  const std::uint32_t bytes_max = may_be_long ? ee->message_max() : std::uint32_t{ee->mcp()};
  if (bytes > bytes_max) {
    return base::Error(may_be_long ? "longer than what the context of that node takes"
                                   : "longer than a cell of the path to that node",
                       EMSGSIZE);
  }
  return {};
}

base::Status check_connectionless(const QpContext& context, const SendWr& wr, std::uint64_t bytes) {
  if (is_local(wr.op)) return {};
  const bool is_raw = context.service == Service::kRaw;
  if (!is_raw && wr.destination_qpn.value == 0) {
    return base::Error("a connectionless post needs a destination", EINVAL);
  }
  if (context.service != Service::kRd && cells_of(bytes, context.attr.mcp) > 1) {
    return base::Error("longer than the one cell of a connectionless channel", EMSGSIZE);
  }
  const OpInfo& info = op_info(is_raw ? Op::kRaw : wire_op(wr.op), context.service);
  if (!info.allowed || (info.allowed_by_option && !context.has_datagram_rdma) ||
      (is_raw && wr.op != WrOp::kSend)) {
    return base::Error("this operation is not allowed on this service", EINVAL);
  }
  if (is_raw && (bytes < kGnhBytes || wr.idata)) {
    return base::Error("a Raw queue pair sends whole IPv6 datagrams, without immediate data",
                       EINVAL);
  }
  return context.service == Service::kRd ? check_context(context, wr, bytes) : base::Status{};
}

base::Status check_responded(const QpContext& context, const SendWr& wr, std::uint64_t bytes) {
  if (!op_info(wire_op(wr.op), context.service).allowed) {
    return base::Error("this service has no RDMA read and no FetchOp", EINVAL);
  }
  if (context.attr.max_rd_atomic == 0) {
    return base::Error("the peer accepts no RDMA read and no FetchOp", EINVAL);
  }
  if (wr.idata) return base::Error("an RDMA read or FetchOp carries no immediate data", EINVAL);
  if (wr.op == WrOp::kRdmaRead) return {};
  if (bytes != sizeof(std::uint64_t)) return base::Error("a FetchOp returns 8 bytes", EINVAL);
  const std::size_t cell = kMacHeaderBytes + kVaMhBytes + kAtomicBytes + 2 * kCrcBytes;
  if (cell > context.attr.mcp + kCellOverheadMax) {
    return base::Error("cells are too small for a FetchOp", EINVAL);
  }
  return {};
}

}  // namespace

base::Status check_post(const QpContext& context, const SendWr& wr, std::uint64_t bytes) {
  if (is_local(wr.op)) {
    if (auto checked = LocalOperations::check(wr); !checked) return checked;
  }
  if (!is_connected(context.service)) {
    if (auto checked = check_connectionless(context, wr, bytes); !checked) return checked;
  }
  if (wr.op == WrOp::kSendDereg && !op_info(Op::kSendDereg, context.service).allowed) {
    return base::Error("this service has no Send with deregister", EINVAL);
  }
  return is_responded(wr.op) ? check_responded(context, wr, bytes) : base::Status{};
}

}  // namespace splitnic::fabric
