// RDMA read and FetchOp: the request is checked and taken as any cell; the responses are sent in
// the order of requests [S000-04] [S000-05]. docs/protocol/transport.md#rdma-read-and-fetchop-on-rc
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/endian.h"
#include "fabric_emul/mem/packet_access.h"
#include "fabric_emul/transport/responder.h"
#include "fabric_emul/transport/send_cell.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

std::uint64_t applied(const AtomicExt& fetch, std::uint64_t old) {
  switch (fetch.op) {
    case FetchOp::kCompareSwap:
      return old == fetch.operand1 ? fetch.operand2 : old;
    case FetchOp::kFetchAdd:
      return old + fetch.operand1;
    case FetchOp::kSwap:
      break;
  }
  return fetch.operand1;
}

// Applies the operation and returns the old value. It is atomic against the threads of this machine
// too where the word is aligned.
std::uint64_t exchange(std::byte* at, const AtomicExt& fetch) {
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(std::uint64_t) == 0) {
    const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(at));
    std::uint64_t old = word.load();
    while (!word.compare_exchange_weak(old, applied(fetch, old))) {
    }
    return old;
  }
  std::uint64_t old = 0;
  std::memcpy(&old, at, kWordBytes);
  const std::uint64_t value = applied(fetch, old);
  std::memcpy(at, &value, kWordBytes);
  return old;
}

}  // namespace

// The checks of a request that has a response [M-05] [M-08] [T-21].
Responder::Step Responder::check_request(const CellView& cell) {
  const bool fetches = cell.header.op == Op::kFetchOpReq;
  const std::uint8_t rights = fetches ? kRemoteRead | kRemoteWrite : kRemoteRead;
  if (!context_.accepts_rdma || (context_.attr.rights & rights) != rights) {
    return refuse(cell, AckCode::kInvalidRequest, kSubRdma);
  }
  const VaMh& range = *cell.va_mh;
  if (fetches && (range.length != kWordBytes || range.address.value % kWordBytes != 0)) {
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  const std::uint64_t cells =
      (std::uint64_t{range.length} + context_.attr.mcp - 1) / context_.attr.mcp;
  if (range.length > kPacketBytesMax || cells > kCellsPerPacketMax) {
    return refuse(cell, AckCode::kInvalidRequest, kSubLength);
  }
  if (!responses_.can_take()) return refuse(cell, AckCode::kInvalidRequest, kSubReads);
  for (const AccessKind kind : {AccessKind::kRemoteRead, AccessKind::kRemoteWrite}) {
    if (kind == AccessKind::kRemoteWrite && !fetches) continue;
    const AccessResult all = context_.mrwt.access(range.handle, range.address, range.length, kind,
                                                  context_.pd, context_.qpn);
    if (all.ok() && fetches && all.run < kWordBytes) {  // a word must not span two pages
      return refuse(cell, AckCode::kRemoteOperational, 0);
    }
    if (all.ok()) continue;
    context_.counters.add(TransportCounter::kDropAccess);
    return refuse(cell, AckCode::kRemoteAccess, static_cast<std::uint16_t>(all.failed));
  }
  return touch(cell);
}

// Executes a FetchOp and returns the old value. REQUIRES that check_request() passed.
std::uint64_t Responder::fetch(const CellView& cell) {
  const AccessResult word =
      context_.mrwt.access(cell.va_mh->handle, cell.va_mh->address, kWordBytes,
                           AccessKind::kRemoteWrite, context_.pd, context_.qpn);
  const auto operation = AtomicExt::parse(cell.atomic_ext);
  return exchange(word.at, *operation);
}

Responder::Step Responder::execute_request(const CellView& cell) {
  if (const Step s = check_request(cell); s != Step::kTaken) return s;
  open_packet(cell);
  if (context_.checks_packet_crc) open_.crc.add(cell);
  if (const Step s = finish_packet(cell); s != Step::kTaken) return s;
  Response response{.request = cell.header.op, .psn = cell.header.psn, .target = *cell.va_mh};
  if (cell.header.op == Op::kRdmaReadReq) {
    const std::uint32_t mcp = context_.attr.mcp;
    response.cells = std::max<std::uint32_t>(1, (response.target.length + mcp - 1) / mcp);
  } else {
    response.value = fetch(cell);
  }
  // A one-touch window stays usable only for the retransmission of a response that is kept [M-10].
  if (const auto forgotten = responses_.push(response)) {
    context_.mrwt.one_touch().spend(forgotten->target.handle, context_.qpn, forgotten->psn);
  }
  return Step::kTaken;
}

void Responder::forget_responses() {
  for (std::size_t i = 0; i < responses_.size(); ++i) {
    context_.mrwt.one_touch().spend(responses_[i].target.handle, context_.qpn, responses_[i].psn);
  }
  responses_.clear();
}

void Responder::retransmit_response(const CellView& cell) {
  if (!responses_.retransmit(cell.header.op, cell.header.psn, *cell.va_mh, context_.attr.mcp)) {
    context_.counters.add(TransportCounter::kReadDropRepeated);
  }
}

unsigned Responder::send_responses(base::Time now, unsigned cells_max) {
  unsigned sent = 0;
  while (sent < cells_max) {
    Response* response = responses_.due();
    if (response == nullptr) break;
    if (!send_response(*response, now)) break;
    ++sent;
  }
  if (is_refusing() && !responses_.has_due()) end_batch(now);
  return sent;
}

// A response that did not arrive is sent by another path, and by none that carries nothing. If all
// are avoided, of several links one that is up is tried.
unsigned Responder::path_of_response(const Response& response, base::Time now) const {
  const PathSet& set = context_.paths;
  const unsigned paths = set.count();
  const unsigned first = (response.psn.value + response.requests) % paths;
  unsigned avoided = first;
  for (unsigned i = 0; i < paths; ++i) {
    const unsigned path = (first + i) % paths;
    if (!set.is_avoided(path, now)) return path;
    if (set.spans() && !set.is_ready(avoided) && set.is_ready(path)) avoided = path;
  }
  return avoided;
}

// Sends the next cell of a response. Returns false when the link has no room now, or when the range
// may not be read any more.
bool Responder::send_response(Response& response, base::Time now) {
  const bool reads = response.request == Op::kRdmaReadReq;
  const std::uint32_t mcp = context_.attr.mcp;
  const std::uint64_t offset = std::uint64_t{response.next} * mcp;
  const std::size_t payload =
      reads ? std::min<std::uint64_t>(mcp, response.target.length - offset) : kWordBytes;
  const unsigned path = path_of_response(response, now);
  Link& link = context_.paths.link_of(path);
  CellHead head;
  MacHeader& h = head.header;
  h = context_.header(reads ? Op::kRdmaReadResp : Op::kFetchOpResp,
                      position_of(response.next, response.cells), link);
  h.dlid = context_.paths.lid_of(path);
  h.psn = response.psn;
  h.csn = static_cast<std::uint16_t>(response.next);
  h.payload_bytes = static_cast<std::uint16_t>(payload);
  const bool has_crc = context_.sets_packet_crc && is_last(h.pos);
  if (has_crc) h.flags |= kFlagPacketCrc;
  const std::size_t total = send_cell(link, head, [&](CellRoom& room) {
    if (reads && !copy_out(response, offset, room.payload)) return false;
    if (!reads) base::store_be(room.payload.data(), response.value);
    if (has_crc) room.packet_crc = reads ? range_crc(response) : base::crc32c(room.payload);
    return true;
  });
  if (total == 0) return false;
  context_.count_sent(total);
  response.is_sent |= ++response.next == response.cells;
  return true;
}

// Copies payload of a response. A refusal ends all responses.
bool Responder::copy_out(const Response& response, std::uint64_t offset, base::MutableBytes to) {
  const PlacementResult copied =
      continue_read(context_.mrwt, context_.pd, context_.qpn, response.psn, response.target.handle,
                    VirtualAddress(response.target.address.value + offset), to);
  if (copied.ok()) return true;
  context_.counters.add(TransportCounter::kDropAccess);
  if (!is_refusing()) {
    nak_ = Nak{AckCode::kRemoteAccess, response.psn, static_cast<std::uint16_t>(response.next),
               static_cast<std::uint16_t>(copied.failed)};
  }
  forget_responses();
  return false;
}

// Returns the CRC of the whole range. It is wrong when the range cannot be read any more, but then
// the cell was refused before.
std::uint32_t Responder::range_crc(const Response& response) const {
  base::Crc32c crc;
  for (std::uint64_t at = 0; at < response.target.length;) {
    const AccessResult piece = context_.mrwt.access(
        response.target.handle, VirtualAddress(response.target.address.value + at),
        response.target.length - at, AccessKind::kRemoteRead, context_.pd, context_.qpn);
    if (!piece.ok() || piece.run == 0) break;
    crc.extend({piece.at, piece.run});
    at += piece.run;
  }
  return crc.value();
}

}  // namespace splitnic::fabric
