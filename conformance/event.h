// An event at a host of the suite: one INIT, one cell, or one whole message. Events wait in
// the order of arrival until a case takes them. The spans in an event point into memory that its
// host keeps for the whole case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/terminate.h"
#include "messaging/wire/message_header.h"

namespace splitnic::conformance {

using ByteVector = std::vector<std::byte>;

enum class EventKind : std::uint8_t {
  kInit,     // but for probes, which the host replies to
  kProbe,    // PROBE_REPLY
  kMgmt,     // a connection message
  kAck,      // an ACK
  kNak,      // a NAK
  kMessage,  // a whole Send on channel 0, or a SendData on channel 1
  kWrite,    // a whole RDMA write
  kTerminate,
  kCell,  // any other cell
  kFlit,  // any other flit
};

struct Event {
  EventKind kind = EventKind::kFlit;
  unsigned channel = 0;
  std::size_t datagram_bytes = 0;
  fabric::Init init{};
  fabric::Mgmt mgmt{};
  fabric::MacHeader header{};  // of the cell, or of the last cell of a message or write
  fabric::AckExt ack{};
  fabric::CellError error{};  // kCell
  // kMessage
  messaging::MessageHeader message{};
  base::Bytes bytes{};  // the message, or what was written
  std::size_t cells = 0;
  std::size_t cell_payload_max = 0;
  // kWrite
  fabric::VaMh target{};
  std::optional<std::uint32_t> idata{};

  messaging::Function function() const {
    return static_cast<messaging::Function>(message.function_code);
  }
};

// "NAK invalid request", "message CfgUtilReply", ...: for the text of a failure.
std::string text_of(const Event& event);

}  // namespace splitnic::conformance
