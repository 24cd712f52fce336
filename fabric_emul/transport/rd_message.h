// The message that an end-to-end context is taking, of which the last cell has not come. Each
// context has one, so that a queue pair may be in the middle of one message per context. The
// context owns it; the responder of its queue pair fills it.
// docs/protocol/rd.md#messages-of-several-cells
#pragma once

#include <cstdint>
#include <optional>

#include "fabric_emul/transport/open_packet.h"
#include "fabric_emul/transport/receive_queue.h"

namespace splitnic::fabric {

struct RdMessage {
  // Of the context.
  std::uint16_t mcp = 0;        // bytes of a full cell
  std::uint32_t bytes_max = 0;  // of a message; at most `mcp`: it is one cell

  Qpn source, destination;
  std::uint32_t next_csn = 0;        // 0: none of its cells was taken
  OpenPacket open;                   // not active: it was dropped, and its next cell is refused
  std::optional<RecvWqe> receive{};  // of a Send: claimed by its first cell

  bool has_begun() const { return next_csn != 0; }
  bool takes_several_cells() const { return bytes_max > mcp; }
  // The next message begins.
  void reset() {
    next_csn = 0;
    open = OpenPacket{};
    receive.reset();
  }
};

}  // namespace splitnic::fabric
