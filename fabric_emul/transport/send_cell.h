// Builds one cell in place in the current batch of a link. Every cell of a queue pair is made here
// (management cells: fabric_emul/switching/path_cell.h): the room is reserved, the head written,
// the payload filled, the cell sealed and committed. The functions are templates, so the filling is
// inlined into its one caller. Nothing is copied twice and nothing is allocated. Thread: the data
// thread. docs/protocol/cell.md
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/middle_header.h"

namespace splitnic::fabric {

// A cell between the writing of its head and its seal.
struct CellRoom {
  base::Bytes head;                           // header and extensions, already written
  base::MutableBytes payload;                 // header.payload_bytes long, to be filled
  std::optional<std::uint32_t> packet_crc{};  // to be set where the header has flag P
};

// Sends one cell on `lane` and returns its bytes. `fill(CellRoom&)` writes the payload and returns
// true, or returns false to send nothing. Returns 0 when the link has no room now or when fill()
// returned false.
template <class Fill>
std::size_t send_cell_on(Link& link, std::uint8_t lane, const CellHead& head, Fill&& fill) {
  const std::size_t payload_bytes = head.header.payload_bytes;
  const base::MutableBytes out = link.reserve(cell_bytes(head, payload_bytes), lane);
  if (out.empty()) return 0;
  const std::size_t head_bytes = emit_cell_head(out, head);
  CellRoom room{.head = out.first(head_bytes), .payload = out.subspan(head_bytes, payload_bytes)};
  if (!fill(room)) return 0;
  const std::size_t total =
      seal_cell(out, head_bytes, payload_bytes, room.packet_crc, link.crc_head_only());
  link.commit(total);
  return total;
}

// The same on the lane of the header's service level.
template <class Fill>
std::size_t send_cell(Link& link, const CellHead& head, Fill&& fill) {
  return send_cell_on(link, link.lane_of(head.header.sl), head, static_cast<Fill&&>(fill));
}

// For cells that consist of a head only.
struct NoPayload {
  bool operator()(const CellRoom& /*room*/) const { return true; }
};

// For payloads that lie ready in memory. REQUIRES header.payload_bytes == payload.size().
struct CopyOf {
  base::Bytes payload;
  bool operator()(const CellRoom& room) const {
    CHECK(room.payload.size() == payload.size());
    std::ranges::copy(payload, room.payload.begin());
    return true;
  }
};

// Sends middle cell `csn` of a packet, whose payload is a multiple of 4 bytes, on `lane`. Returns
// its bytes, or 0 when the link has no room now. The result is that of send_cell_on() with the same
// head and no packet CRC.
inline std::size_t send_middle_cell(Link& link, std::uint8_t lane, const MiddleHeader& header,
                                    std::uint16_t csn, Lcn lcn, std::uint8_t flags,
                                    base::Bytes payload) {
  const std::size_t covered = kMacHeaderBytes + payload.size();
  const base::MutableBytes out = link.reserve(covered + kCrcBytes, lane);
  if (out.empty()) return 0;
  header.emit(out.data(), csn, lcn, flags);
  std::memcpy(out.data() + kMacHeaderBytes, payload.data(), payload.size());
  const base::Bytes checked = out.first(link.crc_head_only() ? kMacHeaderBytes : covered);
  base::store_be(out.data() + covered, base::crc32c(checked));
  link.commit(out.size());
  return out.size();
}

}  // namespace splitnic::fabric
