// The next cell in order: its checks, its placement, and the end of its packet.
#include <cstring>

#include "fabric_emul/mem/packet_access.h"
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/transport/responder.h"
#include "fabric_emul/transport/service.h"

namespace splitnic::fabric {

Responder::Step Responder::refuse(const CellView& cell, AckCode code, std::uint16_t detail) {
  if (code == AckCode::kRemoteAccess) context_.has_refused_access = true;
  if (!is_acknowledged(context_.service)) return Step::kDrop;
  nak_ = Nak{code, cell.header.psn, cell.header.csn, detail};
  if (code == AckCode::kRnr) is_nak_sent_ = true;  // the cells behind it are no gap
  return Step::kNak;
}

// NAK 0x60 names the first missing cell. docs/protocol/ack.md
void Responder::refuse_sequence() {
  nak_ = Nak{AckCode::kSequence, expected_psn_, static_cast<std::uint16_t>(expected_csn_), 0};
  is_nak_sent_ = true;
}

Responder::Step Responder::execute(const CellView& cell) {
  if (const Step s = check_sequence(cell); s != Step::kTaken) return s;
  if (wants_response(cell.header.op)) return execute_request(cell);
  if (const Step s = check_length(cell); s != Step::kTaken) return s;
  if (const Step s = place(cell); s != Step::kTaken) return s;
  if (cell.header.pos == Pos::kLast || cell.header.pos == Pos::kOnly) return finish_packet(cell);
  ++expected_csn_;
  return Step::kTaken;
}

// PSN and CSN continue, and the cells of a packet have one operation [S004-05] [T-20].
Responder::Step Responder::check_sequence(const CellView& cell) {
  const MacHeader& h = cell.header;
  const bool sends = h.op == Op::kSend || h.op == Op::kSendDereg;
  if (h.psn != expected_psn_ || h.csn != expected_csn_) {
    return refuse(cell, AckCode::kInvalidRequest, kSubSequence);
  }
  if (!sends && h.op != Op::kRdmaWrite && !wants_response(h.op)) {
    return refuse(cell, AckCode::kInvalidRequest, kSubOperation);
  }
  const bool begins = h.pos == Pos::kFirst || h.pos == Pos::kOnly;
  if (begins != (expected_csn_ == 0) || (!begins && (!open_.is_active || open_.op != h.op))) {
    return refuse(cell, AckCode::kInvalidRequest, kSubSequence);
  }
  if (h.op == Op::kRdmaWrite &&
      (!context_.accepts_rdma || (context_.attr.rights & kRemoteWrite) == 0)) {
    return refuse(cell, AckCode::kInvalidRequest, kSubRdma);
  }
  if (h.op == Op::kSendDereg && !context_.takes_dereg) {
    return refuse(cell, AckCode::kInvalidRequest, kSubOperation);
  }
  // idata may come on any cell; all must agree.
  if (!begins && cell.idata && open_.idata && *cell.idata != *open_.idata) {
    return refuse(cell, AckCode::kInvalidRequest, kSubIdata);
  }
  return Step::kTaken;
}

// Every cell but the last carries exactly MCP bytes; the last of several is not empty [T-19].
Responder::Step Responder::check_length(const CellView& cell) {
  const MacHeader& h = cell.header;
  const std::size_t mcp = full_cell_bytes();
  const bool ends = h.pos == Pos::kLast || h.pos == Pos::kOnly;
  const bool wrong = ends ? h.payload_bytes > mcp || (h.pos == Pos::kLast && h.payload_bytes == 0)
                          : h.payload_bytes != mcp;
  if (wrong) return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  if (h.op != Op::kRdmaWrite) return Step::kTaken;
  const std::uint64_t total = h.csn == 0 ? cell.va_mh->length : open_.target.length;
  if (total > kPacketBytesMax || total > std::uint64_t{kCellsPerPacketMax} * mcp) {
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  const std::uint64_t upto = std::uint64_t{h.csn} * mcp + h.payload_bytes;
  if (ends ? upto != total : upto >= total) {
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  return Step::kTaken;
}

void Responder::open_packet(const CellView& cell) {
  open_ = Open{};
  open_.is_active = true;
  open_.op = cell.header.op;
  open_.first_lcn = cell.header.lcn;
  if (cell.va_mh) open_.target = *cell.va_mh;
}

// The range has passed its checks, but a one-touch window may have been used by another packet
// [M-09].
Responder::Step Responder::touch(const CellView& cell) {
  if (context_.mrwt.one_touch().touch(cell.va_mh->handle, context_.qpn, cell.header.psn)) {
    return Step::kTaken;
  }
  context_.counters.add(TransportCounter::kDropAccess);
  return refuse(cell, AckCode::kRemoteAccess, static_cast<std::uint16_t>(AccessCheck::kA));
}

Responder::Step Responder::place(const CellView& cell) {
  const std::uint64_t offset = std::uint64_t{cell.header.csn} * full_cell_bytes();
  const bool begins = cell.header.csn == 0;
  base::MutableBytes checked;  // where the payload of the first cell goes
  if (begins && cell.header.op == Op::kRdmaWrite) {
    // The whole range is checked with the first cell, so a packet that would fail later places
    // nothing.
    const AccessResult all =
        context_.mrwt.access(cell.va_mh->handle, cell.va_mh->address, cell.va_mh->length,
                             AccessKind::kRemoteWrite, context_.pd, context_.qpn);
    if (!all.ok()) {
      context_.counters.add(TransportCounter::kDropAccess);
      return refuse(cell, AckCode::kRemoteAccess, static_cast<std::uint16_t>(all.failed));
    }
    if (const Step s = touch(cell); s != Step::kTaken) return s;
    if (all.run >= cell.payload.size()) checked = {all.at, cell.payload.size()};
  }
  const bool sends = cell.header.op != Op::kRdmaWrite;
  if (begins && sends && rq_.empty()) {
    context_.counters.add(TransportCounter::kDropNoReceive);
    return refuse(cell, AckCode::kRnr, context_.attr.min_rnr_timer);
  }
  const bool ends = cell.header.pos == Pos::kLast || cell.header.pos == Pos::kOnly;
  const bool indicates = cell.idata || (!begins && open_.idata);
  if (ends && cell.header.op == Op::kRdmaWrite && indicates && rq_.empty()) {
    context_.counters.add(TransportCounter::kDropNoReceive);
    if (is_acknowledged(context_.service)) {
      return refuse(cell, AckCode::kRnr, context_.attr.min_rnr_timer);
    }
  }
  if (begins) open_packet(cell);
  if (begins && sends && !ends && message_ != nullptr) message_->receive = rq_.claim();
  const Step placed = sends ? place_send(cell, offset) : place_write(cell, offset, checked);
  if (placed != Step::kTaken) return placed;
  if (cell.idata) open_.idata = cell.idata;
  if (context_.checks_packet_crc) open_.crc.add(cell);
  open_.bytes = offset + cell.payload.size();
  return Step::kTaken;
}

Responder::Step Responder::place_send(const CellView& cell, std::uint64_t offset) {
  const RecvWqe& w = receive();
  if (offset + cell.payload.size() > w.scatter.bytes) {
    complete_receive(cell, WcStatus::kLocalLength);
    if (has_own_sequence(context_.service)) context_.fault = WcStatus::kLocalLength;
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  if (!scatter(context_.mrwt, context_.pd, w.scatter.span(), offset, cell.payload).ok()) {
    complete_receive(cell, WcStatus::kLocalProtection);
    if (has_own_sequence(context_.service)) context_.fault = WcStatus::kLocalProtection;
    return refuse(cell, AckCode::kRemoteOperational, 0);
  }
  return Step::kTaken;
}

// `checked`: the memory of the payload, if its access has just been checked; else empty.
Responder::Step Responder::place_write(const CellView& cell, std::uint64_t offset,
                                       base::MutableBytes checked) {
  if (!checked.empty()) {
    std::memcpy(checked.data(), cell.payload.data(), checked.size());
    return Step::kTaken;
  }
  const PlacementResult placed =
      continue_write(context_.mrwt, context_.pd, context_.qpn, cell.header.psn, open_.target.handle,
                     VirtualAddress(open_.target.address.value + offset), cell.payload);
  if (placed.ok()) return Step::kTaken;
  context_.counters.add(TransportCounter::kDropAccess);
  return refuse(cell, AckCode::kRemoteAccess, static_cast<std::uint16_t>(placed.failed));
}

Responder::Step Responder::finish_packet(const CellView& cell) {
  if (cell.packet_crc && context_.checks_packet_crc && *cell.packet_crc != open_.crc.value()) {
    context_.counters.add(TransportCounter::kPacketCrc);
    // The peer retransmits the whole packet from its first cell. docs/protocol/cell.md#crcs
    expected_lcn_ = open_.first_lcn;
    expected_csn_ = 0;
    open_ = Open{};
    if (early_ != nullptr) early_->clear();
    if (!has_own_sequence(context_.service)) return Step::kDrop;
    is_packet_refused_ = true;
    refuse_sequence();
    return Step::kNak;
  }
  if (open_.op == Op::kSendDereg) {
    if (const Step s = deregister_for(cell); s != Step::kTaken) return s;
  }
  // On an unacknowledged service without a posted receive the data is placed, and the lost
  // indication was counted by place().
  const bool sends = open_.op == Op::kSend || open_.op == Op::kSendDereg;
  if (sends || (open_.idata && !rq_.empty())) {
    complete_receive(cell, WcStatus::kSuccess);
  }
  if (open_.op == Op::kRdmaWrite) {
    ++writes_completed_;
    context_.mrwt.one_touch().spend(open_.target.handle, context_.qpn, cell.header.psn);
  }
  open_ = Open{};
  ++expected_psn_;
  expected_csn_ = 0;
  msn_ = (msn_ + 1) & 0xFFFFFF;
  return Step::kTaken;
}

// The peer deregisters one of our regions or windows that it was given [S002-35].
Responder::Step Responder::deregister_for(const CellView& cell) {
  const MemoryHandle tag(*cell.dereg);
  const auto refused = context_.mrwt.end_by_peer(context_.pd, context_.qpn, tag);
  if (!refused) return Step::kTaken;
  context_.counters.add(TransportCounter::kDropAccess);
  return refuse(cell, AckCode::kRemoteAccess, static_cast<std::uint16_t>(*refused));
}

void Responder::complete_receive(const CellView& cell, WcStatus status) {
  Wc wc;
  wc.wr_id = receive().wr_id;
  wc.status = status;
  wc.op = open_.op == Op::kRdmaWrite ? WcOp::kReceiveRdmaIdata : WcOp::kReceive;
  wc.has_idata = open_.idata.has_value() || cell.idata.has_value();
  wc.idata = open_.idata ? *open_.idata : cell.idata.value_or(0);
  if (cell.dereg) wc.ended = MemoryHandle(*cell.dereg);
  wc.is_solicited = (cell.header.flags & kFlagSolicited) != 0;
  wc.bytes = static_cast<std::uint32_t>(std::uint64_t{cell.header.csn} * full_cell_bytes() +
                                        cell.payload.size());
  wc.address = open_.target.address;
  wc.source_lid = cell.header.slid;
  wc.source_qpn = cell.header.sqpn;
  wc.source_ee = EeId(cell.ee.value_or(0));
  pop_receive();
  context_.complete(context_.recv_cq, wc);
}

void Responder::pop_receive() {
  if (message_ == nullptr || !message_->receive) return rq_.pop();
  message_->receive.reset();
  rq_.commit();
}

}  // namespace splitnic::fabric
