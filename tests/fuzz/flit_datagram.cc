#include <algorithm>

#include "base/check.h"
#include "base/endian.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/pretty.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;

// An accepted INIT is in range, and is written as the same bytes but for those of the other
// profiles (16 to 19, 68 to 71).
void take_init(base::Bytes payload) {
  Init init;
  const InitError error = parse_init(payload, init);
  CHECK(name(error) != "unknown");
  if (error != InitError::kNone) return;
  CHECK(name(init.step) != "unknown" && name(init.profile) != "unknown");
  CHECK(name(init.reason) != "unknown" && name(init.payload_crc) != "unknown");
  CHECK((init.step == InitStep::kRefuse) == (init.reason != InitReason::kNone));
  CHECK(init.lanes_mask != 0 && init.instance != 0);
  CHECK(init.mcp_max >= 4 && init.mcp_max % 4 == 0 && init.flit_payload_max >= 120);
  std::vector<std::byte> again(kInitBytes);
  emit_init(again.data(), init);
  for (std::size_t i = 0; i < again.size(); ++i) {
    const bool is_of_profile = (i >= 16 && i < 20) || i >= 68;
    CHECK(is_of_profile || again[i] == payload[i]);
  }
  Init parsed;
  CHECK(parse_init(again, parsed) == InitError::kNone && parsed == init);
}

// The same but for reserved bytes: one of the fixed part, and the highest of each number with 24
// bits in a pair.
std::vector<std::byte> without_reserved(base::Bytes mgmt, std::size_t pairs) {
  std::vector<std::byte> out(mgmt.begin(), mgmt.end());
  out[3] = std::byte{0};
  for (std::size_t i = 0; i < pairs; ++i) {
    for (const std::size_t at : {4U, 8U, 12U, 28U}) {
      out[kMgmtFixedBytes + i * kMgmtPairBytes + at] = std::byte{0};
    }
  }
  return out;
}

void take_mgmt(base::Bytes payload) {
  Mgmt mgmt;
  const MgmtError error = parse_mgmt(payload, mgmt);
  CHECK(name(error) != "unknown");
  if (error != MgmtError::kNone) return;
  CHECK(name(mgmt.kind) != "unknown" && name(mgmt.reject) != "unknown");
  CHECK(mgmt.bytes() == payload.size() && mgmt.private_data.size() <= kMgmtPrivateBytesMax);
  CHECK(mgmt.pair_count <= kMgmtPairsMax);
  std::vector<std::byte> again(mgmt.bytes());
  CHECK(emit_mgmt(again, mgmt) == again.size());
  CHECK(again == without_reserved(payload, mgmt.pair_count));
  Mgmt parsed;
  CHECK(parse_mgmt(again, parsed) == MgmtError::kNone);
  CHECK(parsed.pair_count == mgmt.pair_count && parsed.pairs == mgmt.pairs);
}

void take_cell(base::Bytes cell, bool crc_head_only) {
  CellView view;
  if (parse_cell(cell, view, crc_head_only) != CellError::kNone) return;
  if (view.header.op == Op::kMgmt) take_mgmt(view.payload);
}

// Written again, a flit has the same header and the same payload.
void check_again(const FlitView& flit) {
  std::vector<std::byte> again(flit.bytes());
  CHECK(emit_flit(again, flit.header, flit.payload) == again.size());
  FlitView parsed;
  CHECK(parse_flit(again, parsed) == FlitError::kNone && parsed.header == flit.header);
  CHECK(std::ranges::equal(parsed.payload, flit.payload));
}

// Returns how many flits were good.
std::size_t walk(base::Bytes datagram) {
  FlitWalker walker(datagram);
  std::size_t good = 0;
  std::size_t bytes = 0;
  FlitView flit;
  for (;;) {
    const FlitWalker::Step step = walker.next(flit);
    if (step == FlitWalker::Step::kEnd || step == FlitWalker::Step::kSession) return good;
    if (step == FlitWalker::Step::kBad) {
      CHECK(walker.error() != FlitError::kNone && name(walker.error()) != "unknown");
      continue;
    }
    ++good;
    bytes += flit.bytes();
    CHECK(bytes <= datagram.size());
    CHECK(name(flit.header.type) != "unknown" && flit.payload.size() == flit.header.size);
    const bool has_payload =
        flit.header.type == FlitType::kData || flit.header.type == FlitType::kInit;
    CHECK(has_payload == !flit.payload.empty());
    check_again(flit);
    if (flit.header.type == FlitType::kInit) take_init(flit.payload);
    if (flit.header.type == FlitType::kData) {
      take_cell(flit.payload, (flit.header.ctl & kFlitCellCrcHeadOnly) != 0);
    }
  }
}

// The same datagram with the CRC of every flit made right.
std::vector<std::byte> sealed(base::Bytes datagram) {
  std::vector<std::byte> out(datagram.begin(), datagram.end());
  std::size_t at = 0;
  while (out.size() - at >= kFlitHeaderBytes) {
    const base::MutableBytes rest = base::MutableBytes(out).subspan(at);
    const auto type_vl = std::to_integer<std::uint8_t>(rest[0]);
    FlitHeader header;
    header.type = static_cast<FlitType>(type_vl >> 4);
    header.vl = type_vl & 0xF;
    header.ctl = std::to_integer<std::uint8_t>(rest[1]);
    header.size = base::load_be<std::uint16_t>(rest.data() + 2);
    if (header.size > rest.size() - kFlitHeaderBytes) break;
    at += seal_flit(rest, header);
  }
  return out;
}

}  // namespace

void flit_datagram(base::Bytes in) {
  walk(in);
  walk(sealed(in));
  static_cast<void>(dump_flit(in));
  if (FlitView flit; !in.empty()) CHECK(name(parse_flit(in, flit)) != "unknown");
  take_init(in);
  take_mgmt(in);
}

}  // namespace splitnic::fuzz
