// Cells, messages and RDMA writes of the suite's end. docs/protocol/cell.md,
// docs/protocol/message.md
#include <algorithm>

#include "base/crc32c.h"
#include "base/endian.h"
#include "conformance/end.h"

namespace splitnic::conformance {
namespace {

using fabric::CellHead;
using fabric::Op;
using fabric::Pos;

}  // namespace

CellHead End::cell(unsigned channel, Op op, Pos pos, std::uint16_t csn) {
  const Channel& c = channels_.at(channel);
  CellHead head;
  fabric::MacHeader& h = head.header;
  h.op = op;
  h.pos = pos;
  h.service = c.service;
  h.dlid = target_lid_;
  h.slid = lid_;
  h.dqpn = c.peer;
  h.sqpn = c.own;
  h.psn = c.psn;
  h.csn = csn;
  if (c.service == fabric::Service::kRc) h.lcn = c.lcn;
  if (fabric::is_last(pos)) h.flags = fabric::kFlagAckRequest;
  return head;
}

ByteVector End::make(const CellHead& head, base::Bytes payload) const {
  CellHead whole = head;
  whole.header.payload_bytes = static_cast<std::uint16_t>(payload.size());
  ByteVector out(fabric::cell_bytes(whole, payload.size()));
  out.resize(fabric::emit_cell(out, whole, payload, config_.crc_head_only));
  return out;
}

void End::reseal(ByteVector& cell) const {
  const std::size_t end = cell.size() - fabric::kCrcBytes;
  std::size_t covered = end;
  if (config_.crc_head_only) {
    covered = std::min(end, fabric::kMacHeaderBytes + 4 * std::to_integer<std::size_t>(cell[3]));
  }
  base::store_be(cell.data() + end, base::crc32c(base::Bytes(cell).first(covered)));
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

void End::advance(unsigned channel, Pos pos) {
  Channel& c = channels_.at(channel);
  ++c.lcn;
  if (fabric::is_last(pos)) ++c.psn;
}

void End::put(unsigned channel, const CellHead& head, base::Bytes payload) {
  send_cell(make(head, payload));
  advance(channel, head.header.pos);
}

fabric::AckExt End::ack_of(unsigned channel) const {
  const Channel& c = channels_.at(channel);
  fabric::AckExt ack;
  ack.msn = c.completed;
  ack.receive_credits = receive_credits;
  ack.selective = true;
  ack.cumulative = c.expected_lcn - 1U;
  return ack;
}

void End::send_ack(unsigned channel, Op op, const fabric::AckExt& ack, fabric::Psn psn,
                   std::uint16_t csn) {
  CellHead head = cell(channel, op, Pos::kOnly);
  head.header.flags = 0;
  head.header.psn = psn;
  head.header.csn = csn;
  head.header.lcn = {};
  head.ack = &ack;
  send_cell(make(head, {}));
}

void End::send_message(base::Bytes message, unsigned channel) {
  const std::size_t mcp = channels_.at(channel).mcp;
  if (!is_good() || mcp == 0) return;
  const auto cells =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (message.size() + mcp - 1) / mcp));
  for (std::uint32_t csn = 0; csn < cells; ++csn) {
    const base::Bytes part = message.subspan(csn * mcp, std::min(mcp, message.size() - csn * mcp));
    put(channel,
        cell(channel, Op::kSend, fabric::position_of(csn, cells), static_cast<std::uint16_t>(csn)),
        part);
  }
}

void End::write(const fabric::VaMh& target, base::Bytes bytes, std::optional<std::uint32_t> idata) {
  const std::size_t mcp = channels_[data()].mcp;
  if (!is_good() || mcp == 0) return;
  const auto cells =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, (bytes.size() + mcp - 1) / mcp));
  for (std::uint32_t csn = 0; csn < cells; ++csn) {
    const Pos pos = fabric::position_of(csn, cells);
    CellHead head = cell(data(), Op::kRdmaWrite, pos, static_cast<std::uint16_t>(csn));
    if (csn == 0) head.va_mh = target;
    if (fabric::is_last(pos)) head.idata = idata;
    put(data(), head, bytes.subspan(csn * mcp, std::min(mcp, bytes.size() - csn * mcp)));
  }
}

void End::send_request(messaging::TransactionContext context, messaging::CfgCode code,
                       std::string_view data) {
  ByteVector message(messaging::CfgUtilRequest::bytes(data.size()));
  messaging::CfgUtilRequest{context, code, base::as_bytes(data)}.emit(message);
  send_message(message);
}

}  // namespace splitnic::conformance
