// Raw: a whole IPv6 datagram is one cell. Its header becomes the global network header, the rest is
// the payload [S000-14]. docs/protocol/raw.md
#include <array>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/requester.h"
#include "fabric_emul/transport/send_cell.h"

namespace splitnic::fabric {

std::size_t Requester::emit_raw(Link& link, std::uint64_t no) {
  const Wqe& w = queue_[no];
  // The path of the queue pair's MCP may be wider than the one to this destination.
  if (w.gather.bytes > link.mcp()) {
    failures_.end_send_queue(no, WcStatus::kLocalLength);
    return 0;
  }
  const std::size_t payload = static_cast<std::size_t>(w.gather.bytes) - kGnhBytes;
  std::array<std::byte, kGnhBytes> header;
  if (!gather(context_.mrwt, context_.pd, w.gather.span(), 0, header).ok()) {
    failures_.fail_local_access(no);
    return 0;
  }
  const auto gnh = Gnh::parse(header);
  if (!gnh || gnh->length != payload) {
    failures_.end_send_queue(no, WcStatus::kLocalLength);
    return 0;
  }
  CellHead head;
  fill_header(head.header, w, 0, link, 0);
  head.header.op = Op::kRaw;
  head.header.dqpn = Qpn();  // the receiver's filters choose
  head.header.payload_bytes = static_cast<std::uint16_t>(payload);
  head.gnh = &*gnh;
  const std::size_t total = send_cell(link, head, [&](CellRoom& room) {
    if (gather(context_.mrwt, context_.pd, w.gather.span(), kGnhBytes, room.payload).ok()) {
      return true;
    }
    failures_.fail_local_access(no);
    return false;
  });
  if (total > 0) context_.count_sent(total);
  return total;
}

bool Requester::send_raw(Link& link) {
  Wqe& w = queue_.next();
  if (!may_start(w)) return false;
  w.psn = next_psn_;
  if (emit_raw(link, queue_.next_no()) == 0) return false;
  ++next_psn_;
  queue_.advance();
  complete_front(WcStatus::kSuccess);
  return true;
}

}  // namespace splitnic::fabric
