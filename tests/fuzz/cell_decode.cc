#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/global_cell.h"
#include "fabric_emul/wire/pretty.h"
#include "fabric_emul/wire/terminate.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;

bool lies_in(base::Bytes part, base::Bytes whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// Payload bytes of each operation. docs/protocol/cell.md#operations
bool may_carry(Op op, std::size_t payload_bytes) {
  switch (op) {
    case Op::kRdmaReadReq:
    case Op::kFetchOpReq:
    case Op::kAck:
    case Op::kNak:
      return payload_bytes == 0;
    case Op::kFetchOpResp:
      return payload_bytes == 8;
    case Op::kTerminate:
      return payload_bytes == 48;
    case Op::kMgmt:
      return payload_bytes <= 1024;
    default:
      return payload_bytes <= 65532;
  }
}

// An accepted cell is made of its parts and nothing else, and its numbers agree.
void check_parts(const CellView& view, base::Bytes cell) {
  const MacHeader& h = view.header;
  CHECK(name(h.op) != "unknown" && name(h.service) != "unknown");
  CHECK(may_carry(h.op, view.payload.size()) && view.payload.size() == h.payload_bytes);
  const std::size_t pad = (4 - view.payload.size() % 4) % 4;
  CHECK((h.flags & kFlagPadMask) == pad);
  CHECK(view.packet_crc.has_value() == ((h.flags & kFlagPacketCrc) != 0));
  CHECK(cell.size() == kMacHeaderBytes + std::size_t{h.ext_words} * 4 + view.payload.size() + pad +
                           (view.packet_crc ? kCrcBytes : 0) + kCrcBytes);
  CHECK(view.idata.has_value() == ((h.flags & kFlagIdata) != 0));
  CHECK(view.gnh.empty() == ((h.flags & kFlagGlobal) == 0));
  if (h.op != Op::kAck && h.op != Op::kNak) CHECK(is_first(h.pos) == (h.csn == 0));
}

void check_terminate(base::Bytes payload) {
  const auto terminate = Terminate::parse(payload);
  if (!terminate) return;
  std::array<std::byte, kTerminateBytes> again{};
  terminate->emit(again.data());
  CHECK(Terminate::parse(again) == terminate);
}

// Set bit by bit, the bitmap has the same words, but for empty ones at its end.
void check_bitmap(const AckExt& ack) {
  AckExt built;
  for (unsigned i = 0; i < 32 * ack.bitmap_words; ++i) {
    if ((ack.bitmap[i / 32] >> (31 - i % 32) & 1) != 0) built.set_bit(i);
  }
  CHECK(built.bitmap_words <= ack.bitmap_words);
  for (unsigned i = 0; i < ack.bitmap_words; ++i) {
    CHECK(ack.bitmap[i] == (i < built.bitmap_words ? built.bitmap[i] : 0));
  }
}

void check_ack(const CellView& view) {
  AckExt ack;
  if (!parse_ack(view, ack)) return;
  CHECK(ack.bytes() == view.ack_ext.size());
  std::vector<std::byte> again(ack.bytes());
  ack.emit(again.data());
  CHECK(std::ranges::equal(again, view.ack_ext));
  AckExt parsed;
  CHECK(AckExt::parse(again, parsed) && parsed == ack);
  CHECK(name(ack.code) != "unknown");
  parsed.msn ^= 1;
  CHECK(!(parsed == ack));
  if (ack.selective) check_bitmap(ack);
}

// An accepted cell of this many bytes can be emitted again, and parses to the same.
void check_again(const CellView& view, std::size_t bytes) {
  CellHead head;
  head.header = view.header;
  head.va_mh = view.va_mh;
  head.idata = view.idata;
  head.dereg = view.dereg;
  head.ee = view.ee;
  head.stream_number = view.stream_number;
  AckExt ack;
  if (parse_ack(view, ack)) head.ack = &ack;
  const auto gnh = Gnh::parse(view.gnh);
  const auto read = ReadExt::parse(view.read_ext);
  const auto atomic = AtomicExt::parse(view.atomic_ext);
  head.gnh = gnh ? &*gnh : nullptr;
  head.read = read ? &*read : nullptr;
  head.atomic = atomic ? &*atomic : nullptr;
  std::vector<std::byte> cell(cell_bytes(head, view.payload.size()));
  CHECK(emit_cell(cell, head, view.payload) == cell.size() && cell.size() == bytes);
  CellView parsed;
  CHECK(parse_cell(cell, parsed) == CellError::kNone);
  CHECK(parsed.header == view.header && parsed.va_mh == view.va_mh);
  CHECK(parsed.idata == view.idata && parsed.dereg == view.dereg && parsed.ee == view.ee);
  CHECK(std::ranges::equal(parsed.payload, view.payload));
}

// As a router and an end node take it: they look at a cell before its other fields were checked.
void check_network(base::Bytes cell, bool crc_head_only) {
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  const auto gnh = has_gnh(header) ? gnh_of(cell) : std::nullopt;
  if (!gnh || gnh->hop_limit == 0) return;
  std::vector<std::byte> next(cell.size());
  CHECK(forward_global(next, cell, *gnh, {Lid(2), Lid(1)}, crc_head_only) == cell.size());
  CHECK(check_cell_crc(next, crc_head_only) == CellError::kNone);
  CHECK(gnh_of(next)->hop_limit == gnh->hop_limit - 1);
  if (is_datagram(header)) {
    CHECK(change_lids(next, cell, {Lid(2), Lid(1)}, crc_head_only) == cell.size());
    std::vector<std::byte> same(cell.size());
    change_lids(same, next, {header.dlid, header.slid}, crc_head_only);
    return CHECK(std::ranges::equal(same, cell));
  }
  // An end node writes the same GNH, but for the hop limit and the flow.
  const Gnh fresh = gnh_between({gnh->source}, {gnh->destination}, header.sl, gnh->length);
  CHECK(fresh.next_header == gnh->next_header && fresh.traffic_class >> 4 == header.sl);
  CHECK(fresh.source == gnh->source && fresh.destination == gnh->destination);
  CHECK(fresh.length == gnh->length && fresh.hop_limit == kGlobalHopLimit);
  next.resize(remove_gnh(next, cell, {Lid(2), Lid(1)}, crc_head_only));
  CHECK(check_cell_crc(next, crc_head_only) == CellError::kNone);
  std::vector<std::byte> back(cell.size());
  CHECK(add_gnh(back, next, *gnh, {header.dlid, header.slid}, crc_head_only) == cell.size());
  CHECK(std::ranges::equal(back, cell));
}

void decode(base::Bytes cell, bool crc_head_only) {
  if (check_cell_crc(cell, crc_head_only) == CellError::kNone) check_network(cell, crc_head_only);
  CellView view;
  const CellError error = parse_cell(cell, view, crc_head_only);
  CHECK(name(error) != "unknown");
  CHECK(!dump_cell(cell, crc_head_only).empty());
  if (error != CellError::kNone) return;
  for (const base::Bytes part : {view.payload, view.gnh, view.read_ext, view.atomic_ext,
                                 view.ack_ext, view.packet_crc_ext}) {
    CHECK(lies_in(part, cell));
  }
  PacketCrc().add(view);
  check_parts(view, cell);
  if (view.header.op == Op::kTerminate) check_terminate(view.payload);
  check_ack(view);
  check_again(view, cell.size());
}

}  // namespace

void cell_decode(base::Bytes in) {
  decode(in, false);
  decode(in, true);
  // No mutation ever hits a CRC: make it right, so that what comes after it is reached.
  if (in.size() < kCellBytesMin) return;
  std::vector<std::byte> cell(in.begin(), in.end());
  const std::size_t at = cell.size() - kCrcBytes;
  base::store_be(cell.data() + at, base::crc32c(in.first(at)));
  decode(cell, false);
}

}  // namespace splitnic::fuzz
