// One cell: whether the stream has its operation, its access checks, table D, and its placement.
// When one of these functions returns false, the stream ends and memory is unchanged.
#include "fabric_emul/mem/placement.h"
#include "fabric_emul/stream/stream_receiver.h"
#include "fabric_emul/stream/stream_terminate.h"
#include "fabric_emul/transport/wc.h"

namespace splitnic::fabric {

bool StreamReceiver::refuse(const CellView& cell, TerminateCause cause) {
  context_.counters.add(StreamCounter::kDropRefused);
  context_.fail(refused_cell(cell, cause));
  return false;
}

bool StreamReceiver::refuse_access(const CellView& cell, const VaMh& range, AccessCheck check) {
  context_.counters.add(StreamCounter::kDropAccess);
  context_.fail(refused_access(cell, range, check));
  return false;
}

bool StreamReceiver::is_taken_here(const CellView& cell) const {
  switch (cell.header.op) {
    case Op::kSend:
      return true;
    case Op::kSendDereg:
      return context_.kind == StreamKind::kRdma && context_.takes_dereg;
    case Op::kRdmaWrite:
    case Op::kRdmaReadReq:
    case Op::kRdmaReadResp:
      return context_.kind == StreamKind::kRdma;
    default:
      return false;
  }
}

// Every cell but the last carries exactly MCP bytes, the last of several is not empty, and all lie
// within the length of the packet.
bool StreamReceiver::has_legal_length(const CellView& cell) const {
  const MacHeader& h = cell.header;
  if (h.op == Op::kRdmaReadReq) {
    return cell.va_mh->length <= kPacketBytesMax &&
           cell.va_mh->length <= std::uint64_t{kCellsPerPacketMax} * context_.mcp;
  }
  if (!is_last(h.pos) && h.payload_bytes != context_.mcp) return false;
  if (h.payload_bytes > context_.mcp || (h.pos == Pos::kLast && h.payload_bytes == 0)) return false;
  if (!cell.va_mh) return true;
  const std::uint64_t upto = std::uint64_t{h.csn} * context_.mcp + h.payload_bytes;
  return cell.va_mh->length <= kPacketBytesMax &&
         (is_last(h.pos) ? upto == cell.va_mh->length : upto < cell.va_mh->length);
}

// The cell is placed where this side has requested it, and nowhere else.
bool StreamReceiver::is_read_response(const CellView& cell) const {
  const std::uint64_t offset = std::uint64_t{cell.header.csn} * context_.mcp;
  const OpenRead* read = nullptr;
  for (std::size_t i = 0; (read = sender_.open_read(i)) != nullptr; ++i) {
    if (read->psn == cell.header.psn) break;
  }
  return read != nullptr && cell.va_mh->handle == read->sink_handle &&
         cell.va_mh->address.value == read->sink.value + offset &&
         cell.va_mh->length == read->length;
}

// The whole packet's range is checked with each cell, so that one which would fail later places
// nothing.
bool StreamReceiver::place_tagged(const CellView& cell, StreamPlace place, StreamNumber last_byte,
                                  bool& touches) {
  const bool responses = cell.header.op == Op::kRdmaReadResp;
  if (responses && !is_read_response(cell)) {
    sender_.fail_read(cell.header.psn);
    return refuse(cell, TerminateCause::kStreamError);
  }
  if (responses && cell.va_mh->length == 0) return true;
  const std::uint64_t offset = std::uint64_t{cell.header.csn} * context_.mcp;
  const VaMh whole{VirtualAddress(cell.va_mh->address.value - offset), cell.va_mh->handle,
                   cell.va_mh->length};
  const AccessResult all =
      context_.mrwt.access(whole.handle, whole.address, whole.length, AccessKind::kRemoteWrite,
                           context_.pd, context_.qpn);
  if (!all.ok()) return refuse_access(cell, whole, all.failed);
  const MrwtEntry* entry = context_.mrwt.entry(whole.handle);
  const TableD then =
      table_d(is_last(cell.header.pos), entry->one_touch_enabled, entry->touched, place);
  if (then == TableD::kEndAndRefuse) {
    context_.mrwt.one_touch().end_touch(whole.handle);
    return refuse_access(cell, whole, AccessCheck::kA);
  }
  const PlacementResult placed = write_remote(context_.mrwt, context_.pd, context_.qpn,
                                              whole.handle, cell.va_mh->address, cell.payload);
  if (!placed.ok()) return refuse_access(cell, whole, placed.failed);
  touches = then == TableD::kPlaceAndTouch;
  if (touches) {
    context_.mrwt.one_touch().touch_early(whole.handle, context_.qpn, cell.header.psn, last_byte);
  } else if (then == TableD::kPlaceAndEnd) {
    context_.mrwt.one_touch().end_touch(whole.handle);
  }
  return true;
}

// REQUIRES a posted receive.
bool StreamReceiver::place_send(const CellView& cell) {
  const RecvWqe& w = rq_.front();
  const std::uint64_t offset = std::uint64_t{cell.header.csn} * context_.mcp;
  if (offset + cell.payload.size() > w.scatter.bytes) {
    complete_receive(cell.header, WcStatus::kLocalLength);
    return refuse(cell, TerminateCause::kTooLong);
  }
  if (!scatter(context_.mrwt, context_.pd, w.scatter.span(), offset, cell.payload).ok()) {
    complete_receive(cell.header, WcStatus::kLocalProtection);
    return refuse(cell, TerminateCause::kLocalCatastrophic);
  }
  return true;
}

// The peer deregisters one of our regions or windows that it was given [S002-35].
bool StreamReceiver::deregister_for(const CellView& cell) {
  if (!cell.dereg) return true;
  const MemoryHandle tag(*cell.dereg);
  const auto refused = context_.mrwt.end_by_peer(context_.pd, context_.qpn, tag);
  return !refused || refuse_access(cell, VaMh{VirtualAddress(), tag, 0}, *refused);
}

// Adds the request to the read request queue [S002-21].
bool StreamReceiver::take_read_request(const CellView& cell, base::Time now) {
  const ReadExt read = *ReadExt::parse(cell.read_ext);
  switch (reads_.check(read.msn)) {
    case ReadAdmission::kNotNext:
      return refuse(cell, TerminateCause::kMsnRange);
    case ReadAdmission::kFull:
      return refuse(cell, TerminateCause::kReadQueueFull);
    case ReadAdmission::kTaken:
      break;
  }
  const VaMh& source = *cell.va_mh;
  const AccessResult all = context_.mrwt.access(source.handle, source.address, source.length,
                                                AccessKind::kRemoteRead, context_.pd, context_.qpn);
  if (!all.ok()) return refuse_access(cell, source, all.failed);
  if (!context_.mrwt.one_touch().touch(source.handle, context_.qpn, cell.header.psn)) {
    return refuse_access(cell, source, AccessCheck::kA);
  }
  if (const ReadResponse* arrived = reads_.arrived()) sender_.on_arrived(arrived->end, now);
  ReadResponse response{.msn = read.msn, .psn = cell.header.psn, .source = source};
  response.sink_handle = read.sink_handle;
  response.sink_offset = read.sink_offset;
  const std::uint32_t mcp = context_.mcp;
  response.cells = static_cast<std::uint32_t>((std::uint64_t{source.length} + mcp - 1) / mcp);
  if (response.cells == 0) response.cells = 1;
  reads_.push(response);
  return true;
}

}  // namespace splitnic::fabric
