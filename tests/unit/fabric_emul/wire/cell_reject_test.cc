// Cells that parse_cell refuses, and proof that no input makes it read outside the cell.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace cell_reject_test {

using golden::Bytes;
using golden::bytes_of;
using golden::reseal;

CellError error_of(const Bytes& cell) {
  CellView view;
  return parse_cell(cell, view);
}

// The error after one byte is set and the CRC is made good again.
CellError error_with(std::string_view hex, std::size_t at, unsigned value) {
  Bytes cell = bytes_of(hex);
  cell[at] = static_cast<std::byte>(value);
  return error_of(reseal(cell));
}

TEST(CellRejectTest, S001_36_any_single_bit_flip_is_refused) {
  for (const std::string_view hex : golden::kCells) {
    const Bytes good = bytes_of(hex);
    ASSERT_EQ(error_of(good), CellError::kNone) << hex;
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes changed = good;
      changed[bit / 8] ^= static_cast<std::byte>(0x80U >> (bit % 8));
      const CellError error = error_of(changed);
      // A flip in the extension length may run past the end before there is a CRC to compare.
      EXPECT_TRUE(error == CellError::kCrc || (error == CellError::kShort && bit / 8 == 3)) << bit;
    }
  }
}

TEST(CellRejectTest, every_truncation_is_refused_even_with_a_good_crc) {
  for (const std::string_view hex : golden::kCells) {
    const Bytes good = bytes_of(hex);
    for (std::size_t n = 0; n < good.size(); ++n) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_NE(error_of(cut), CellError::kNone);
      if (n < kCellBytesMin) {
        EXPECT_EQ(error_of(cut), CellError::kShort);
      } else {
        EXPECT_NE(error_of(reseal(cut)), CellError::kNone) << n;
      }
    }
    Bytes longer = good;
    longer.resize(good.size() + 4);
    EXPECT_EQ(error_of(reseal(longer)), CellError::kLength);
  }
}

TEST(CellRejectTest, reserved_bits_and_pad_bytes_are_ignored) {
  for (const std::string_view hex : golden::kCells) {
    const Bytes good = bytes_of(hex);
    CellView expected;
    ASSERT_EQ(parse_cell(good, expected), CellError::kNone);
    std::vector<std::size_t> reserved = {12, 16};
    if (expected.ee) reserved.push_back(28);
    if (!expected.atomic_ext.empty()) {
      for (const std::size_t i : {1U, 2U, 3U}) reserved.push_back(28 + kVaMhBytes + i);
    }
    const std::size_t payload_end =
        static_cast<std::size_t>(expected.payload.data() - good.data()) + expected.payload.size();
    for (unsigned i = 0; i < (expected.header.flags & kFlagPadMask); ++i) {
      reserved.push_back(payload_end + i);
    }
    for (const std::size_t at : reserved) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes changed = good;
        changed[at] ^= static_cast<std::byte>(1U << bit);
        changed = reseal(changed);
        CellView view;
        ASSERT_EQ(parse_cell(changed, view), CellError::kNone) << at;
        EXPECT_EQ(view.header, expected.header);
        EXPECT_EQ(view.ee, expected.ee);
        EXPECT_TRUE(std::ranges::equal(view.payload, expected.payload));
      }
    }
  }
}

TEST(CellRejectTest, every_other_version_is_refused) {
  for (unsigned version = 0; version < 16; ++version) {
    EXPECT_EQ(error_with(golden::kWriteOnly, 0, version << 4) == CellError::kNone, version == 1);
  }
  EXPECT_EQ(error_with(golden::kWriteOnly, 0, 0x20), CellError::kVersion);
}

TEST(CellRejectTest, pairs_of_operation_and_service_outside_the_table_are_refused) {
  for (unsigned op = 0; op < 64; ++op) {
    for (unsigned service = 0; service < 16; ++service) {
      Bytes cell = bytes_of(golden::kWriteOnly);
      cell[1] = static_cast<std::byte>(0xC0 | op);
      cell[8] = static_cast<std::byte>(service << 4);
      CellView view;
      const CellError error = parse_cell(reseal(cell), view);
      const bool allowed = op_info(static_cast<Op>(op), static_cast<Service>(service)).allowed;
      EXPECT_EQ(error == CellError::kOp, !allowed) << op << " " << service;
      // The header is valid, so that a NAK can be written.
      EXPECT_EQ(view.header.sqpn, Qpn(0x10));
    }
  }
}

TEST(CellRejectTest, S004_05_position_must_fit_operation_and_csn) {
  // A middle or last cell has a CSN, a first or only cell has none.
  EXPECT_EQ(error_with(golden::kWriteFirst, 21, 1), CellError::kPosition);
  EXPECT_EQ(error_with(golden::kWriteMiddle, 21, 0), CellError::kPosition);
  EXPECT_EQ(error_with(golden::kWriteLast, 21, 0), CellError::kPosition);
  // One-cell operations are "only".
  for (const std::string_view hex :
       {golden::kAck, golden::kRnrNak, golden::kTerminate, golden::kConnectReq, golden::kFetchOpReq,
        golden::kStreamReadReq, golden::kUdGlobal}) {
    const Bytes good = bytes_of(hex);
    for (unsigned pos = 0; pos < 3; ++pos) {
      const unsigned op = std::to_integer<unsigned>(good[1]) & 0x3F;
      EXPECT_EQ(error_with(hex, 1, (pos << 6) | op), CellError::kPosition);
    }
  }
  // In an ACK the CSN is the acknowledged one.
  EXPECT_EQ(error_with(golden::kAck, 21, 9), CellError::kNone);
}

TEST(CellRejectTest, flags_without_a_place_are_refused) {
  // Packet CRC on a first and a middle cell, and on an ACK.
  EXPECT_EQ(error_with(golden::kWriteFirst, 2, kFlagPacketCrc), CellError::kFlags);
  EXPECT_EQ(error_with(golden::kWriteMiddle, 2, kFlagPacketCrc), CellError::kFlags);
  EXPECT_EQ(error_with(golden::kAck, 2, kFlagPacketCrc), CellError::kFlags);
  // idata on operations that have none.
  for (const std::string_view hex : {golden::kAck, golden::kFetchOpReq, golden::kStreamReadReq,
                                     golden::kTerminate, golden::kConnectRtu}) {
    EXPECT_EQ(error_with(hex, 2, kFlagIdata), CellError::kFlags);
  }
}

TEST(CellRejectTest, extension_length_must_be_what_the_header_calls_for) {
  for (const std::string_view hex : golden::kCells) {
    const Bytes good = bytes_of(hex);
    for (unsigned words = 0; words < 256; ++words) {
      if (std::to_integer<unsigned>(good[3]) == words) continue;
      const CellError error = error_with(hex, 3, words);
      EXPECT_TRUE(error == CellError::kExtensions || error == CellError::kShort ||
                  error == CellError::kLength)
          << name(error) << " " << words;
    }
  }
  // The address is missing on a first cell, and there is one on a middle cell.
  EXPECT_EQ(error_with(golden::kWriteFirst, 3, 0), CellError::kExtensions);
  EXPECT_EQ(error_with(golden::kWriteMiddle, 3, 1), CellError::kExtensions);
  // Flag I without the word.
  EXPECT_EQ(error_with(golden::kWriteMiddle, 2, kFlagIdata), CellError::kExtensions);
  // Flag G over something that is not a network header.
  EXPECT_EQ(error_with(golden::kUdGlobal, kMacHeaderBytes, 0x40), CellError::kExtensions);
  // An operation of ATOMIC that does not exist.
  EXPECT_EQ(error_with(golden::kFetchOpReq, kMacHeaderBytes + kVaMhBytes, 4),
            CellError::kExtensions);
}

TEST(CellRejectTest, acknowledgements_with_a_wrong_code_or_bitmap_are_refused) {
  for (unsigned code = 0; code < 256; ++code) {
    const std::set<unsigned> naks = {0x20, 0x60, 0x61, 0x62, 0x63, 0x64};
    EXPECT_EQ(error_with(golden::kAck, 28, code) == CellError::kNone, code == 0) << code;
    EXPECT_EQ(error_with(golden::kRnrNak, 28, code) == CellError::kNone, naks.contains(code));
  }
  for (unsigned words = 0; words < 256; ++words) {
    EXPECT_EQ(error_with(golden::kAckBitmap, 38, words) == CellError::kNone, words == 2);
  }
  // The third word belongs to RC.
  for (const unsigned service : {2U, 5U}) {
    EXPECT_EQ(error_with(golden::kAckBitmap, 8, service << 4), CellError::kExtensions);
  }
}

TEST(CellRejectTest, payload_length_pad_and_size_must_agree) {
  for (unsigned value = 0; value < 256; ++value) {
    EXPECT_EQ(error_with(golden::kWriteOnly, 23, value) == CellError::kNone, value == 5);
  }
  for (unsigned pad = 0; pad < 4; ++pad) {
    EXPECT_EQ(error_with(golden::kWriteOnly, 2, 0xC8 | pad) == CellError::kNone, pad == 3);
  }
  EXPECT_EQ(error_with(golden::kWriteOnly, 22, 1), CellError::kLength);
}

TEST(CellRejectTest, operations_of_one_payload_size_take_no_other) {
  const auto size_is_legal = [](Op op, Service service, std::size_t bytes) {
    CellHead head;
    head.header.op = op;
    head.header.service = service;
    const AckExt nak{.code = AckCode::kSequence};
    const AckExt ack;
    const AtomicExt atomic;
    if (op == Op::kAck) head.ack = &ack;
    if (op == Op::kNak) head.ack = &nak;
    if (op == Op::kFetchOpReq) head.atomic = &atomic;
    if (op == Op::kFetchOpReq || op == Op::kRdmaReadReq) head.va_mh = VaMh{};
    const Bytes payload(bytes);
    Bytes cell(cell_bytes(head, bytes));
    emit_cell(cell, head, payload);
    const CellError error = error_of(cell);
    EXPECT_TRUE(error == CellError::kNone || error == CellError::kLength) << name(error);
    return error == CellError::kNone;
  };
  for (std::size_t n = 0; n <= 1100; n += 1) {
    EXPECT_EQ(size_is_legal(Op::kAck, Service::kRc, n), n == 0);
    EXPECT_EQ(size_is_legal(Op::kNak, Service::kRc, n), n == 0);
    EXPECT_EQ(size_is_legal(Op::kRdmaReadReq, Service::kRc, n), n == 0);
    EXPECT_EQ(size_is_legal(Op::kFetchOpReq, Service::kRc, n), n == 0);
    EXPECT_EQ(size_is_legal(Op::kFetchOpResp, Service::kRc, n), n == 8);
    EXPECT_EQ(size_is_legal(Op::kTerminate, Service::kRc, n), n == 48);
    EXPECT_EQ(size_is_legal(Op::kMgmt, Service::kMgmt, n), n <= kMgmtPayloadMax);
    EXPECT_TRUE(size_is_legal(Op::kSend, Service::kRc, n));
  }
  EXPECT_TRUE(size_is_legal(Op::kSend, Service::kRc, kMcpMax));
}

TEST(CellRejectTest, S001_36_random_bytes_under_a_good_crc_stay_inside_the_cell) {
  base::SeededRandom random(41);
  std::array<unsigned, static_cast<std::size_t>(CellError::kCount_)> seen{};
  for (int round = 0; round < 40000; ++round) {
    Bytes cell = bytes_of(golden::kCells[random.below(std::size(golden::kCells))]);
    const std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      cell[random.below(kMacHeaderBytes + 4)] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (random.below(4) == 0) cell.resize(kCellBytesMin + 4 * random.below(20));
    cell = reseal(cell);
    CellView view;
    const CellError error = parse_cell(cell, view, random.below(8) == 0);
    ++seen[static_cast<std::size_t>(error)];
    if (error != CellError::kNone) continue;
    for (const base::Bytes part : {view.payload, view.gnh, view.read_ext, view.atomic_ext,
                                   view.ack_ext, view.packet_crc_ext}) {
      if (part.empty()) continue;
      ASSERT_GE(part.data(), cell.data());
      ASSERT_LE(part.data() + part.size(), cell.data() + cell.size() - kCrcBytes);
    }
    AckExt ack;
    ASSERT_EQ(parse_ack(view, ack), op_info(view.header.op, view.header.service).has_ack);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_GT(seen[i], 0U) << name(static_cast<CellError>(i));
    EXPECT_NE(name(static_cast<CellError>(i)), "unknown");
  }
}

}  // namespace cell_reject_test
}  // namespace splitnic::fabric
