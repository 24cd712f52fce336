// Packet CRCs: a packet with a wrong one comes once more as a whole, whatever was acknowledged of
// it. docs/protocol/transport.md#clauses-of-rc
#include <algorithm>

#include "base/endian.h"
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using fabric::Op;
using fabric::Pos;

constexpr std::uint16_t kCrcMcp = 256;  // the smallest that a target has to take: P-INIT-12
constexpr std::size_t kShortEcho = 8, kLongEcho = 600;  // bytes: one cell, several
constexpr base::Duration kNoReplyWithin = std::chrono::milliseconds(60);  // a reply would have come

// A connection on which the target checks packet CRCs, of small cells.
bool attach_with_crc(End& h) {
  h.terms.pair_flags = fabric::kPairPacketCrc;
  h.terms.mcp_max = kCrcMcp;
  return h.attach();
}

// The next packet of channel 0 in its cells, the last one with the packet CRC. The first cell and
// the last one ask for an ACK.
std::vector<ByteVector> cells_of(End& h, const ByteVector& message) {
  const std::size_t mcp = h.channel(0).mcp;
  const auto count = static_cast<std::uint32_t>((message.size() + mcp - 1) / mcp);
  std::vector<ByteVector> cells;
  for (std::uint32_t csn = 0; csn < count; ++csn) {
    const auto part =
        base::Bytes(message).subspan(csn * mcp, std::min(mcp, message.size() - csn * mcp));
    const Pos pos = fabric::position_of(csn, count);
    fabric::CellHead head = h.cell(0, Op::kSend, pos, static_cast<std::uint16_t>(csn));
    if (csn == 0) head.header.flags |= fabric::kFlagAckRequest;
    if (fabric::is_last(pos)) head.header.flags |= fabric::kFlagPacketCrc;
    cells.push_back(make_cell(h, head, part));
    advance(h, 0, pos);
  }
  fabric::PacketCrc crc;
  crc.add({}, message);
  base::store_be(&cells.back().at(cells.back().size() - 2 * fabric::kCrcBytes), crc.value());
  reseal(h, cells.back());
  return cells;
}

ByteVector with_wrong_crc(End& h, ByteVector cell) {
  cell.at(cell.size() - 2 * fabric::kCrcBytes) ^= std::byte{1};
  reseal(h, cell);
  return cell;
}

// NAK 0x60 of a packet: it names the first cell, and acknowledges what was before it.
bool expect_nak_of_packet(End& h, fabric::Psn psn, fabric::Lcn first, std::string_view expected) {
  const auto nak = expect_nak(h, 0, fabric::AckCode::kSequence, expected);
  return nak && h.expect(nak->header.csn == 0 && nak->header.psn == psn &&
                             nak->ack.cumulative == first - 1U,
                         expected);
}

void refuse_one_cell(End& h) {
  if (!attach_with_crc(h)) return;
  const fabric::Psn psn = h.channel(0).psn;
  const fabric::Lcn first = h.channel(0).lcn;
  const auto context = h.next_context();
  const ByteVector good = cells_of(h, echo_message(context, kShortEcho)).back();
  h.send_cell(with_wrong_crc(h, good));
  if (!expect_nak_of_packet(h, psn, first, "NAK 0x60 of the packet")) return;
  h.listen(kNoReplyWithin);
  h.expect(!h.inbox().has_message(context), "a packet that waits");
  h.send_cell(good);
  expect_echo(h, context, kShortEcho);
}

void refuse_cells(End& h) {
  if (!attach_with_crc(h)) return;
  const fabric::Psn psn = h.channel(0).psn;
  const fabric::Lcn first = h.channel(0).lcn;
  const auto context = h.next_context();
  const auto second = h.next_context();
  const ByteVector request = echo_message(context, kLongEcho);
  if (!can_send(h, request.size())) return;
  const std::vector<ByteVector> cells = cells_of(h, request);
  const ByteVector behind = next_echo(h, second);
  h.send_cell(cells.front());
  h.await_if(
      [first](const Event& e) {
        return e.kind == EventKind::kAck && e.channel == 0 && e.ack.cumulative == first;
      },
      "an ACK of the first cell");
  for (std::size_t i = 1; i + 1 < cells.size(); ++i) h.send_cell(cells[i]);
  h.send_cell(with_wrong_crc(h, cells.back()));
  if (!expect_nak_of_packet(h, psn, first, "NAK 0x60 that goes back to before the packet")) return;
  for (int i = 0; i < 2; ++i) {
    h.send_cell(behind);
    if (!expect_nak_of_packet(h, psn, first, "the same NAK for each cell with flag A")) return;
  }
  h.expect(!h.inbox().has_message(context), "a packet that waits");
  for (const ByteVector& cell : cells) h.send_cell(cell);
  expect_echo(h, context, kLongEcho);
  h.send_cell(behind);
  await_reply(h, second);
}

// A target that sends wrong packet CRCs fails here at the latest: the suite checks every packet.
void expect_packet_crcs(End& h) {
  h.terms.mcp_max = kCrcMcp;
  if (!h.attach()) return;
  if (!h.channel(0).has_packet_crcs)
    return h.outcome().skip("the target states no flag 0x0002: it sends no packet CRCs");
  for (const std::size_t bytes : {kShortEcho, kLongEcho}) {
    const auto context = h.next_context();
    const ByteVector request = echo_message(context, bytes);
    if (!can_send(h, request.size())) return;
    send_message(h, request);
    expect_echo(h, context, bytes);
  }
}

}  // namespace

std::vector<Case> packet_crc_cases() {
  SharedGroup group("cm");
  group.add("packet_crc_of_target", "P-CELL-8,P-CM-8",
            "Where the target states flag 0x0002, each of its packets has a packet CRC, which is "
            "right.",
            expect_packet_crcs);
  group.add("packet_crc", "P-RC-20,P-CELL-8,P-CM-8",
            "Where we use packet CRCs, a packet with a wrong one gets NAK 0x60.", refuse_one_cell);
  group.add(
      "packet_crc_of_cells", "P-RC-20",
      "The NAK goes back to before cells that were acknowledged, and comes for each cell with "
      "flag A until the packet comes once more.",
      refuse_cells);
  return group.take();
}

}  // namespace splitnic::conformance
