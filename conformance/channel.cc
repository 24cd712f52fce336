#include "conformance/channel.h"

namespace splitnic::conformance {

SentCell as_sent(const fabric::CellView& view) {
  fabric::PacketCrc crc;
  crc.add(view);
  const fabric::MacHeader& h = view.header;
  return {.psn = h.psn, .csn = h.csn, .pos = h.pos, .op = h.op, .crc = crc.value()};
}

}  // namespace splitnic::conformance
