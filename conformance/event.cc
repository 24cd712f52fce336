#include "conformance/event.h"

#include <fmt/format.h>

namespace splitnic::conformance {

std::string text_of(const Event& event) {
  switch (event.kind) {
    case EventKind::kInit:
    case EventKind::kProbe:
      return event.init.step == fabric::InitStep::kRefuse
                 ? fmt::format("INIT refuse, reason {}", name(event.init.reason))
                 : fmt::format("INIT {}", name(event.init.step));
    case EventKind::kMgmt:
      return event.mgmt.kind == fabric::MgmtKind::kConnectRej
                 ? fmt::format("{} {} {}", name(event.mgmt.kind), name(event.mgmt.reject),
                               base::as_text(event.mgmt.private_data))
                 : std::string(name(event.mgmt.kind));
    case EventKind::kAck:
      return fmt::format("ACK of PSN {}", event.header.psn.value);
    case EventKind::kNak:
      return fmt::format("NAK {} of PSN {}, detail {}", name(event.ack.code),
                         event.header.psn.value, event.ack.detail);
    case EventKind::kMessage:
      return fmt::format("message {}", messaging::name(event.function()));
    case EventKind::kWrite:
      return fmt::format("RDMA write of {} bytes", event.bytes.size());
    case EventKind::kTerminate:
      return "TERMINATE";
    case EventKind::kCell:
      return fmt::format("cell {} {}", name(event.header.op), name(event.error));
    case EventKind::kFlit:
      break;
  }
  return "another flit";
}

}  // namespace splitnic::conformance
