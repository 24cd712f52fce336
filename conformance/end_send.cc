// Cells of the suite's end. docs/protocol/cell.md
#include "conformance/end.h"

namespace splitnic::conformance {

fabric::CellHead End::cell(unsigned channel, fabric::Op op, fabric::Pos pos, std::uint16_t csn) {
  const Channel& c = channels_.at(channel);
  fabric::CellHead head;
  fabric::MacHeader& h = head.header;
  h.op = op;
  h.pos = pos;
  h.service = c.service;
  h.dlid = target_.lid;
  h.slid = lid_;
  h.dqpn = c.peer;
  h.sqpn = c.own;
  h.psn = c.psn;
  h.csn = csn;
  if (c.service == fabric::Service::kRc) h.lcn = c.lcn;
  if (fabric::is_last(pos)) h.flags = fabric::kFlagAckRequest;
  return head;
}

void End::send_cell(base::Bytes cell) {
  if (!is_good()) return;
  const std::uint8_t vl = line_.lanes().lane_of(cell);
  if (line_.lanes().is_open()) {
    line_.note_cell(Direction::kSent, cell);
    line_.lanes().post(vl, cell);
    return send_lanes();
  }
  std::uint8_t ctl = fabric::kFlitSof | fabric::kFlitEof | fabric::kFlitHeaderCrcOnly;
  if (config_.crc_head_only) ctl |= fabric::kFlitCellCrcHeadOnly;
  send_flit({.type = fabric::FlitType::kData, .vl = vl, .ctl = ctl}, cell);
}

}  // namespace splitnic::conformance
