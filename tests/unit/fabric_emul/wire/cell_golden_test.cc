// The cells of docs/protocol/cell.md and ack.md, written and read back.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace cell_golden_test {

using golden::bytes_of;
using golden::hex_of;

constexpr std::uint16_t kMcp = 8;
constexpr std::string_view kPacket = "abcdefghijklmnopqrs";

MacHeader request_header(Op op, Pos pos, std::uint32_t psn) {
  MacHeader h;
  h.op = op;
  h.pos = pos;
  h.dlid = Lid(2);
  h.slid = Lid(1);
  h.dqpn = Qpn(0x11);
  h.sqpn = Qpn(0x10);
  h.psn = Psn(psn);
  h.partition = PartitionKey(0x8001);
  return h;
}

MacHeader reply_header(Op op, std::uint32_t psn) {
  MacHeader h = request_header(op, Pos::kOnly, psn);
  std::swap(h.dlid, h.slid);
  std::swap(h.dqpn, h.sqpn);
  return h;
}

std::string emitted(const CellHead& head, std::string_view payload = {}) {
  std::array<std::byte, 2048> out{};
  out.fill(std::byte{0xEE});  // nothing may be left of it, pad included
  const std::size_t n = emit_cell(out, head, base::as_bytes(payload));
  EXPECT_EQ(n, cell_bytes(head, payload.size()));
  return hex_of(base::Bytes(out).first(n));
}

TEST(CellGoldenTest, S001_35_only_cell_of_a_write_with_idata_and_packet_crc) {
  CellHead head{.header = request_header(Op::kRdmaWrite, Pos::kOnly, 0x100)};
  head.header.flags = kFlagAckRequest | kFlagPacketCrc;
  head.va_mh = VaMh{VirtualAddress(0x7F0012342800), MemoryHandle(0x2A01), 5};
  head.idata = 0x07050005;
  EXPECT_EQ(emitted(head, "hello"), golden::kWriteOnly);

  const golden::Bytes cell = bytes_of(golden::kWriteOnly);
  ASSERT_EQ(cell.size(), 64U);
  CellView view;
  ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
  EXPECT_EQ(view.header.dlid, Lid(2));
  EXPECT_EQ(view.header.slid, Lid(1));
  EXPECT_EQ(view.header.dqpn, Qpn(0x11));
  EXPECT_EQ(view.header.sqpn, Qpn(0x10));
  EXPECT_EQ(view.header.psn, Psn(0x100));
  EXPECT_EQ(view.header.csn, 0);
  EXPECT_EQ(view.header.payload_bytes, 5);
  EXPECT_EQ(view.va_mh, head.va_mh);
  EXPECT_EQ(view.idata, head.idata);
  EXPECT_FALSE(view.dereg || view.ee || view.stream_number);
  EXPECT_EQ(base::as_text(view.payload), "hello");
  EXPECT_EQ(view.packet_crc, 0xACE2A099U);
  PacketCrc crc;
  crc.add(view);
  EXPECT_EQ(crc.value(), view.packet_crc);
}

// The way a segmenter writes: head, payload in place, seal; the packet CRC runs along.
std::vector<golden::Bytes> segmented_write(std::string_view packet = kPacket) {
  std::vector<golden::Bytes> cells;
  PacketCrc crc;
  for (std::size_t csn = 0; csn * kMcp < packet.size(); ++csn) {
    const std::string_view part = packet.substr(csn * kMcp, kMcp);
    const bool last = (csn + 1) * kMcp >= packet.size();
    CellHead head{.header = request_header(Op::kRdmaWrite, Pos::kMiddle, 0xFFFFFF)};
    head.header.csn = static_cast<std::uint16_t>(csn);
    head.header.payload_bytes = static_cast<std::uint16_t>(part.size());
    head.header.lcn = Lcn(0xFFFF) + static_cast<std::uint32_t>(csn);
    if (csn == 0) {
      head.header.pos = Pos::kFirst;
      head.va_mh = VaMh{VirtualAddress(0x7F0012342800), MemoryHandle(0x2A01),
                        static_cast<std::uint32_t>(packet.size())};
    }
    if (last) {
      head.header.pos = Pos::kLast;
      head.header.flags = kFlagAckRequest | kFlagPacketCrc;
      head.idata = 0x07050013;
    }
    golden::Bytes cell(cell_bytes(head, part.size()));
    const std::size_t head_bytes = emit_cell_head(cell, head);
    EXPECT_EQ(head_bytes, cell_head_bytes(head));
    std::memcpy(cell.data() + head_bytes, part.data(), part.size());
    crc.add(packet_crc_ext(base::Bytes(cell).first(head_bytes), head), base::as_bytes(part));
    std::optional<std::uint32_t> packet_crc;
    if (last) packet_crc = crc.value();
    EXPECT_EQ(seal_cell(cell, head_bytes, part.size(), packet_crc), cell.size());
    cells.push_back(cell);
  }
  return cells;
}

TEST(CellGoldenTest, S001_37_only_the_first_cell_carries_the_address) {
  const std::vector<golden::Bytes> cells = segmented_write();
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(hex_of(cells[0]), golden::kWriteFirst);
  EXPECT_EQ(hex_of(cells[1]), golden::kWriteMiddle);
  EXPECT_EQ(hex_of(cells[2]), golden::kWriteLast);
  std::string data;
  PacketCrc crc;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CellView view;
    ASSERT_EQ(parse_cell(cells[i], view), CellError::kNone);
    EXPECT_EQ(view.va_mh.has_value(), i == 0);
    EXPECT_EQ(view.idata.has_value(), i == 2);
    EXPECT_EQ(view.packet_crc.has_value(), i == 2);
    data += base::as_text(view.payload);
    crc.add(view);
    if (i == 2) {
      EXPECT_EQ(view.packet_crc, crc.value());
    }
  }
  EXPECT_EQ(data, kPacket);
}

TEST(CellGoldenTest, S001_38_packet_crc_sees_swapped_payloads_under_good_cell_crcs) {
  std::vector<golden::Bytes> cells = segmented_write("abcdefghijklmnopqrstuvwxyz");
  ASSERT_EQ(cells.size(), 4U);
  std::swap_ranges(cells[1].begin() + 28, cells[1].begin() + 36, cells[2].begin() + 28);
  PacketCrc crc;
  CellView view;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = golden::reseal(cells[i]);
    ASSERT_EQ(parse_cell(cells[i], view), CellError::kNone);
    crc.add(view);
  }
  EXPECT_EQ(view.header.pos, Pos::kLast);
  ASSERT_TRUE(view.packet_crc);
  EXPECT_NE(crc.value(), *view.packet_crc);
}

TEST(CellGoldenTest, S001_39_X_39_idata_is_read_on_any_cell) {
  for (const Pos pos : {Pos::kFirst, Pos::kMiddle, Pos::kLast, Pos::kOnly}) {
    CellHead head{.header = request_header(Op::kRdmaWrite, pos, 1)};
    head.header.csn = is_first(pos) ? 0 : 1;
    if (is_first(pos)) head.va_mh = VaMh{VirtualAddress(8), MemoryHandle(9), 4};
    head.idata = 0x01020304;
    const golden::Bytes cell = bytes_of(emitted(head, "data"));
    CellView view;
    ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
    EXPECT_EQ(view.idata, 0x01020304U);
    EXPECT_NE(view.header.flags & kFlagIdata, 0);
  }
}

TEST(CellGoldenTest, ack_cells_with_and_without_bitmap_and_a_nak) {
  AckExt ack{.msn = 1, .receive_credits = 64, .selective = true};
  CellHead head{.header = reply_header(Op::kAck, 0x100)};
  head.ack = &ack;
  EXPECT_EQ(emitted(head), golden::kAck);
  EXPECT_EQ(bytes_of(golden::kAck).size(), 44U);

  AckExt gaps{.msn = 0xFFFFFF, .receive_credits = 63, .selective = true, .cumulative = Lcn(0xFFFF)};
  gaps.hold_10us = 2;
  for (const unsigned i : {0U, 3U, 32U}) gaps.set_bit(i);
  head = CellHead{.header = reply_header(Op::kAck, 0xFFFFFF)};
  head.ack = &gaps;
  EXPECT_EQ(emitted(head), golden::kAckBitmap);
  const golden::Bytes cell = bytes_of(golden::kAckBitmap);
  CellView view;
  ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
  AckExt back;
  ASSERT_TRUE(parse_ack(view, back));
  EXPECT_EQ(back, gaps);

  AckExt rnr{.code = AckCode::kRnr, .msn = 0x102, .detail = 100, .selective = true};
  rnr.cumulative = Lcn(5);
  head = CellHead{.header = reply_header(Op::kNak, 0x102)};
  head.ack = &rnr;
  EXPECT_EQ(emitted(head), golden::kRnrNak);
}

TEST(CellGoldenTest, S002_01_an_ack_on_a_stream_has_the_next_expected_byte) {
  const AckExt ack{.msn = 1, .receive_credits = 64};
  CellHead head{.header = reply_header(Op::kAck, 0x100)};
  head.header.service = Service::kStream;
  head.ack = &ack;
  head.stream_number = 0x5040;
  EXPECT_EQ(emitted(head), golden::kStreamAck);
  const golden::Bytes cell = bytes_of(golden::kStreamAck);
  CellView view;
  ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
  EXPECT_EQ(view.stream_number, 0x5040U);
  AckExt back;
  ASSERT_TRUE(parse_ack(view, back));
  EXPECT_EQ(back, ack);
}

TEST(CellGoldenTest, largest_full_profile_ack_fits_the_smallest_flit) {
  static_assert(kAckCellBytesFullMax == 120 && kAckCellBytesFullMax <= kFlitPayloadMin);
  const Gnh gnh;
  AckExt ack{.selective = true, .bitmap_words = kAckBitmapWordsFull};
  CellHead head{.header = reply_header(Op::kAck, 1)};
  head.ack = &ack;
  head.gnh = &gnh;
  EXPECT_EQ(cell_bytes(head, 0) + kStreamBytes, kAckCellBytesFullMax);
}

TEST(CellGoldenTest, extensions_of_the_rarer_operations) {
  const ReadExt read{3, MemoryHandle(0x2B02), 0x40};
  CellHead head{.header = request_header(Op::kRdmaReadReq, Pos::kOnly, 5)};
  head.header.service = Service::kStream;
  head.stream_number = 0x7000;
  head.va_mh = VaMh{VirtualAddress(0x7F0012342800), MemoryHandle(0x2A01), 19};
  head.read = &read;
  EXPECT_EQ(emitted(head), golden::kStreamReadReq);

  const AtomicExt atomic{FetchOp::kFetchAdd, 1, 0};
  head = CellHead{.header = request_header(Op::kFetchOpReq, Pos::kOnly, 5)};
  head.header.lcn = Lcn(7);
  head.va_mh = VaMh{VirtualAddress(0x7F0012342800), MemoryHandle(0x2A01), 8};
  head.atomic = &atomic;
  EXPECT_EQ(emitted(head), golden::kFetchOpReq);

  head = CellHead{.header = request_header(Op::kSendDereg, Pos::kOnly, 6)};
  head.header.lcn = Lcn(7);
  head.header.flags = kFlagSolicited;
  head.dereg = 0x2C03;
  EXPECT_EQ(emitted(head, "hi"), golden::kSendDereg);

  head = CellHead{.header = request_header(Op::kSend, Pos::kOnly, 6)};
  head.header.service = Service::kRd;
  head.header.lcn = Lcn(9);
  head.ee = 0x123456;
  EXPECT_EQ(emitted(head, "ping"), golden::kRdSend);

  CellView view;
  const golden::Bytes stream = bytes_of(golden::kStreamReadReq);
  ASSERT_EQ(parse_cell(stream, view), CellError::kNone);
  EXPECT_EQ(view.stream_number, 0x7000U);
  EXPECT_EQ(ReadExt::parse(view.read_ext), read);
  EXPECT_EQ(view.packet_crc_ext.size(), kVaMhBytes + kReadBytes);
  const golden::Bytes fetch = bytes_of(golden::kFetchOpReq);
  ASSERT_EQ(parse_cell(fetch, view), CellError::kNone);
  EXPECT_EQ(AtomicExt::parse(view.atomic_ext), atomic);
  EXPECT_FALSE(view.stream_number);
  const golden::Bytes dereg = bytes_of(golden::kSendDereg);
  ASSERT_EQ(parse_cell(dereg, view), CellError::kNone);
  EXPECT_EQ(view.dereg, 0x2C03U);
  const golden::Bytes rd = bytes_of(golden::kRdSend);
  ASSERT_EQ(parse_cell(rd, view), CellError::kNone);
  EXPECT_EQ(view.ee, 0x123456U);
  EXPECT_TRUE(view.packet_crc_ext.empty());
}

TEST(CellGoldenTest, S000_38_local_header_always_global_header_only_to_another_subnet) {
  Gnh gnh{.length = 8, .next_header = 17, .hop_limit = 64};
  for (unsigned i = 0; i < 16; ++i) {
    gnh.source[i] = static_cast<std::byte>(i);
    gnh.destination[i] = static_cast<std::byte>(16 + i);
  }
  CellHead head{.header = request_header(Op::kSend, Pos::kOnly, 6)};
  head.header.service = Service::kUd;
  const golden::Bytes local = bytes_of(emitted(head, "ping"));
  head.gnh = &gnh;
  EXPECT_EQ(emitted(head, "ping"), golden::kUdGlobal);
  const golden::Bytes global = bytes_of(golden::kUdGlobal);
  CellView view;
  ASSERT_EQ(parse_cell(local, view), CellError::kNone);
  EXPECT_EQ(view.header.flags & kFlagGlobal, 0);
  EXPECT_TRUE(view.gnh.empty());
  EXPECT_EQ(view.header.dlid, Lid(2));
  ASSERT_EQ(parse_cell(global, view), CellError::kNone);
  EXPECT_NE(view.header.flags & kFlagGlobal, 0);
  EXPECT_EQ(Gnh::parse(view.gnh), gnh);
  EXPECT_EQ(view.header.dlid, Lid(2));
  EXPECT_EQ(base::as_text(view.payload), "ping");
}

TEST(CellGoldenTest, a_cell_that_was_kept_is_parsed_without_its_crc) {
  CellHead head{.header = request_header(Op::kSend, Pos::kOnly, 0xFFFFFF)};
  std::array<std::byte, 64> out{};
  const std::size_t n = emit_cell(out, head, base::as_bytes("ping"));
  out[n - 1] ^= std::byte{1};
  const base::Bytes cell = base::Bytes(out).first(n);
  CellView view;
  EXPECT_EQ(parse_cell(cell, view), CellError::kCrc);
  EXPECT_EQ(parse_checked_cell(cell, view), CellError::kNone);
  EXPECT_EQ(base::as_text(view.payload), "ping");
  EXPECT_EQ(parse_checked_cell(cell.first(n - 4), view), CellError::kLength);
  EXPECT_EQ(parse_checked_cell(cell.first(31), view), CellError::kShort);
}

TEST(CellGoldenTest, shm_profile_crc_covers_the_head_only) {
  CellHead head{.header = request_header(Op::kSend, Pos::kOnly, 0xFFFFFF)};
  std::array<std::byte, 64> out{};
  const std::size_t n = emit_cell(out, head, base::as_bytes("ping"), true);
  EXPECT_EQ(hex_of(base::Bytes(out).first(n)), golden::kShmSend);
  CellView view;
  EXPECT_EQ(parse_cell(base::Bytes(out).first(n), view), CellError::kCrc);
  ASSERT_EQ(parse_cell(base::Bytes(out).first(n), view, true), CellError::kNone);
  EXPECT_EQ(base::as_text(view.payload), "ping");
  for (std::size_t bit = 0; bit < kMacHeaderBytes * 8; ++bit) {
    std::array<std::byte, 64> changed = out;
    changed[bit / 8] ^= static_cast<std::byte>(0x80U >> (bit % 8));
    EXPECT_NE(parse_cell(base::Bytes(changed).first(n), view, true), CellError::kNone) << bit;
  }
}

TEST(CellGoldenTest, every_payload_length_gets_its_pad) {
  for (std::size_t n = 0; n <= 260; ++n) {
    const std::string payload(n, 'x');
    CellHead head{.header = request_header(Op::kSend, Pos::kOnly, 1)};
    head.header.flags = n % 2 == 0 ? kFlagPacketCrc : std::uint8_t{0};
    const golden::Bytes cell = bytes_of(emitted(head, payload));
    EXPECT_EQ(cell.size() % 4, 0U);
    CellView view;
    ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
    EXPECT_EQ(base::as_text(view.payload), payload);
    EXPECT_EQ((n + (view.header.flags & kFlagPadMask)) % 4, 0U);
  }
}

// The optional parts of a cell, with their positions.
std::string optional_parts(const CellView& view, const golden::Bytes& cell) {
  std::string out;
  const auto word = [&out](const std::optional<std::uint32_t>& value) {
    out += value ? std::to_string(*value) + " " : "- ";
  };
  for (const auto& value : {view.idata, view.dereg, view.ee, view.stream_number, view.packet_crc}) {
    word(value);
  }
  out += view.va_mh ? std::to_string(view.va_mh->address.value) + " " : "- ";
  for (const base::Bytes part : {view.gnh, view.read_ext, view.atomic_ext, view.ack_ext,
                                 view.payload, view.packet_crc_ext}) {
    out += part.empty() ? "- "
                        : std::to_string(part.data() - cell.data()) + "+" +
                              std::to_string(part.size()) + " ";
  }
  return out;
}

// The data path parses one cell after the other into the same view.
TEST(CellGoldenTest, nothing_of_the_cell_before_is_left_in_a_view) {
  for (const std::string_view before : golden::kCells) {
    for (const std::string_view hex : golden::kCells) {
      const golden::Bytes first = bytes_of(before);
      const golden::Bytes cell = bytes_of(hex);
      CellView fresh, used;
      ASSERT_EQ(parse_cell(first, used), CellError::kNone);
      ASSERT_EQ(parse_cell(cell, used), CellError::kNone);
      ASSERT_EQ(parse_cell(cell, fresh), CellError::kNone);
      EXPECT_EQ(used.header, fresh.header);
      EXPECT_EQ(optional_parts(used, cell), optional_parts(fresh, cell)) << before;
    }
  }
}

}  // namespace cell_golden_test
}  // namespace splitnic::fabric
