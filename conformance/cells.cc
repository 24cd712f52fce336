#include "conformance/cells.h"

#include <algorithm>

#include "base/crc32c.h"
#include "base/endian.h"

namespace splitnic::conformance {

using fabric::CellHead;
using fabric::Pos;

ByteVector make_cell(const End& end, const CellHead& head, base::Bytes payload) {
  CellHead whole = head;
  whole.header.payload_bytes = static_cast<std::uint16_t>(payload.size());
  ByteVector out(fabric::cell_bytes(whole, payload.size()));
  out.resize(fabric::emit_cell(out, whole, payload, end.config().crc_head_only));
  return out;
}

void reseal(const End& end, ByteVector& cell) {
  const std::size_t crc_at = cell.size() - fabric::kCrcBytes;
  std::size_t covered = crc_at;
  if (end.config().crc_head_only) {
    covered = std::min(crc_at, fabric::kMacHeaderBytes + 4 * std::to_integer<std::size_t>(cell[3]));
  }
  base::store_be(cell.data() + crc_at, base::crc32c(base::Bytes(cell).first(covered)));
}

void advance(End& end, unsigned channel, Pos pos) {
  Channel& c = end.channel(channel);
  ++c.lcn;
  if (fabric::is_last(pos)) ++c.psn;
}

void put_cell(End& end, unsigned channel, const CellHead& head, base::Bytes payload) {
  end.send_cell(make_cell(end, head, payload));
  advance(end, channel, head.header.pos);
}

fabric::AckExt ack_of(End& end, unsigned channel) {
  const Channel& c = end.channel(channel);
  fabric::AckExt ack;
  ack.msn = c.completed;
  ack.receive_credits = end.habits.receive_credits;
  ack.selective = true;
  ack.cumulative = c.expected_lcn - 1U;
  return ack;
}

void send_ack(End& end, unsigned channel, fabric::Op op, const fabric::AckExt& ack, fabric::Psn psn,
              std::uint16_t csn) {
  CellHead head = end.cell(channel, op, Pos::kOnly);
  head.header.flags = 0;
  head.header.psn = psn;
  head.header.csn = csn;
  head.header.lcn = {};
  head.ack = &ack;
  end.send_cell(make_cell(end, head, {}));
}

}  // namespace splitnic::conformance
