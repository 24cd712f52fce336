#include "fabric_emul/wire/mgmt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/wire/codec.h"

namespace splitnic::fabric {
namespace mgmt_test {

using golden::Bytes;

MgmtPair pair_of(unsigned channel, std::uint32_t qpn, std::uint32_t psn, std::uint32_t lcn) {
  MgmtPair pair;
  pair.channel = static_cast<std::uint8_t>(channel);
  pair.flags = channel == 1 ? kPairIdataFormB : std::uint16_t{0};
  pair.qpn = Qpn(qpn);
  pair.start_psn = Psn(psn);
  pair.start_lcn = Lcn(lcn);
  pair.mcp = 1364;
  pair.receive_credits = channel == 1 ? 256 : 64;
  pair.msg_max = channel == 1 ? 1U << 20 : 65536;
  return pair;
}

// The six cells of docs/protocol/mgmt.md.
Mgmt mgmt_of(MgmtKind kind) {
  const bool from_a =
      kind == MgmtKind::kConnectReq || kind == MgmtKind::kConnectRtu || kind == MgmtKind::kDisc;
  Mgmt m;
  m.kind = kind;
  m.transaction = 0x1122334455667788;
  m.eui64 = Eui64(0x0200000000000001);
  m.instance = 0x1111222233334444;
  m.peer_eui64 = Eui64(0x0200000000000002);
  m.peer_instance = 0x5555666677778888;
  m.pairs[0] = from_a ? pair_of(0, 0x10, 0x100, 0x20) : pair_of(0, 0x11, 0x200, 0x40);
  m.pairs[1] = from_a ? pair_of(1, 0x12, 0xFFFFFF, 0xFFFF) : pair_of(1, 0x13, 0x300, 0x60);
  if (!from_a) {
    std::swap(m.eui64, m.peer_eui64);
    std::swap(m.instance, m.peer_instance);
  }
  if (kind != MgmtKind::kConnectReq) {
    m.pairs[0].peer_qpn = Qpn(from_a ? 0x11 : 0x10);
    m.pairs[1].peer_qpn = Qpn(from_a ? 0x13 : 0x12);
  }
  m.pair_count = 2;
  if (kind == MgmtKind::kConnectReq || kind == MgmtKind::kConnectRep) {
    m.private_data = base::as_bytes("\x08\x01");
  }
  if (kind == MgmtKind::kConnectRej) {
    m.reject = MgmtReject::kRefused;
    m.pair_count = 0;
    m.private_data = base::as_bytes("full");
  }
  if (kind == MgmtKind::kDisc || kind == MgmtKind::kDiscRep) {
    m.pair_count = 1;
    m.pairs[0] = m.pairs[1];
    m.pairs[0].completed = Msn(from_a ? 7 : 9);
  }
  return m;
}

struct Sample {
  MgmtKind kind;
  std::string_view cell;
};
constexpr Sample kSamples[] = {{MgmtKind::kConnectReq, golden::kConnectReq},
                               {MgmtKind::kConnectRep, golden::kConnectRep},
                               {MgmtKind::kConnectRtu, golden::kConnectRtu},
                               {MgmtKind::kConnectRej, golden::kConnectRej},
                               {MgmtKind::kDisc, golden::kDisc},
                               {MgmtKind::kDiscRep, golden::kDiscRep}};

Bytes bytes(const Mgmt& m) { return golden::emitted(m, emit_mgmt); }
MgmtError error_of(const Bytes& in) { return golden::error_of(in, parse_mgmt); }

void expect_equal(const Mgmt& a, const Mgmt& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.reject, b.reject);
  EXPECT_EQ(a.transaction, b.transaction);
  EXPECT_EQ(a.eui64, b.eui64);
  EXPECT_EQ(a.instance, b.instance);
  EXPECT_EQ(a.peer_eui64, b.peer_eui64);
  EXPECT_EQ(a.peer_instance, b.peer_instance);
  EXPECT_TRUE(std::ranges::equal(a.used_pairs(), b.used_pairs()));
  EXPECT_TRUE(std::ranges::equal(a.private_data, b.private_data));
}

TEST(MgmtTest, X_46_golden_cells_of_connection_setup) {
  for (const Sample& sample : kSamples) {
    const Mgmt m = mgmt_of(sample.kind);
    CellHead head;
    head.header.op = Op::kMgmt;
    head.header.service = Service::kMgmt;
    const bool from_a = m.eui64 == Eui64(0x0200000000000001);
    head.header.dlid = Lid(from_a ? 2 : 1);
    head.header.slid = Lid(from_a ? 1 : 2);
    const Bytes payload = bytes(m);
    Bytes cell(cell_bytes(head, payload.size()));
    emit_cell(cell, head, payload);
    EXPECT_EQ(golden::hex_of(cell), sample.cell) << name(sample.kind);
    CellView view;
    ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
    Mgmt back;
    ASSERT_EQ(parse_mgmt(view.payload, back), MgmtError::kNone) << name(sample.kind);
    expect_equal(back, m);
  }
}

TEST(MgmtTest, four_pairs_and_512_bytes_of_private_data_fit_a_cell) {
  Mgmt m = mgmt_of(MgmtKind::kConnectReq);
  const Bytes opaque(kMgmtPrivateBytesMax, std::byte{0x5A});
  m.private_data = opaque;
  m.pair_count = kMgmtPairsMax;
  for (unsigned i = 0; i < kMgmtPairsMax; ++i) m.pairs[i] = pair_of(i, 0x20 + i, i, i);
  EXPECT_LE(m.bytes(), kMgmtPayloadMax);
  const Bytes in = bytes(m);
  Mgmt back;
  ASSERT_EQ(parse_mgmt(in, back), MgmtError::kNone);
  expect_equal(back, m);
}

TEST(MgmtTest, every_truncation_and_any_excess_is_refused) {
  for (const Sample& sample : kSamples) {
    const Bytes good = bytes(mgmt_of(sample.kind));
    ASSERT_EQ(error_of(good), MgmtError::kNone);
    for (std::size_t n = 0; n < good.size(); ++n) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
      const MgmtError error = error_of(cut);
      EXPECT_TRUE(error == MgmtError::kShort || error == MgmtError::kLength) << n;
    }
    Bytes longer = good;
    longer.push_back(std::byte{0});
    EXPECT_EQ(error_of(longer), MgmtError::kLength);
  }
}

TEST(MgmtTest, reserved_bits_are_ignored) {
  const Mgmt expected = mgmt_of(MgmtKind::kConnectRep);
  for (const std::size_t at : {3U, 48U + 4U, 48U + 8U, 48U + 12U, 48U + 28U}) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes in = bytes(expected);
      in[at] ^= static_cast<std::byte>(1U << bit);
      Mgmt back;
      ASSERT_EQ(parse_mgmt(in, back), MgmtError::kNone) << at;
      expect_equal(back, expected);
    }
  }
}

TEST(MgmtTest, S000_16_max_dest_rd_atomic_is_in_bytes_22_and_23_of_a_pair) {
  Mgmt m = mgmt_of(MgmtKind::kConnectRep);
  m.pairs[0].max_dest_rd_atomic = 0x1234;
  Bytes expected = bytes(mgmt_of(MgmtKind::kConnectRep));
  EXPECT_EQ(expected[48 + 22], std::byte{0});
  expected[48 + 22] = std::byte{0x12};
  expected[48 + 23] = std::byte{0x34};
  EXPECT_EQ(bytes(m), expected);
  Mgmt back;
  ASSERT_EQ(parse_mgmt(expected, back), MgmtError::kNone);
  EXPECT_EQ(back.pairs[0].max_dest_rd_atomic, 0x1234);
  EXPECT_EQ(back.pairs[1].max_dest_rd_atomic, 0);
}

TEST(MgmtTest, formats_kinds_and_reject_codes_without_a_meaning_are_refused) {
  for (unsigned value = 0; value < 256; ++value) {
    Bytes in = bytes(mgmt_of(MgmtKind::kConnectReq));
    in[0] = static_cast<std::byte>(value);
    EXPECT_EQ(error_of(in), value == 1 ? MgmtError::kNone : MgmtError::kFormat);
    in = bytes(mgmt_of(MgmtKind::kDisc));
    in[1] = static_cast<std::byte>(value);
    const bool is_known = value >= 1 && value <= 8;
    EXPECT_EQ(error_of(in) == MgmtError::kFormat, !is_known) << value;
    EXPECT_EQ(error_of(in) == MgmtError::kReject, value == 4) << value;
    in = bytes(mgmt_of(MgmtKind::kConnectRej));
    in[5] = static_cast<std::byte>(value);
    EXPECT_EQ(error_of(in), value >= 1 && value <= 5 ? MgmtError::kNone : MgmtError::kReject);
    in = bytes(mgmt_of(MgmtKind::kConnectReq));
    in[5] = static_cast<std::byte>(value);
    EXPECT_EQ(error_of(in), value == 0 ? MgmtError::kNone : MgmtError::kReject);
  }
}

TEST(MgmtTest, counts_that_run_past_the_end_are_refused) {
  for (unsigned count = 0; count < 256; ++count) {
    Bytes in = bytes(mgmt_of(MgmtKind::kConnectReq));
    in[2] = static_cast<std::byte>(count);
    EXPECT_EQ(error_of(in) == MgmtError::kNone, count == 2) << count;
  }
  for (unsigned size = 0; size < 0x10000; size += 3) {
    Bytes in = bytes(mgmt_of(MgmtKind::kConnectRtu));
    in[6] = static_cast<std::byte>(size >> 8);
    in[7] = static_cast<std::byte>(size);
    EXPECT_EQ(error_of(in) == MgmtError::kNone, size == 0) << size;
  }
  // 513 bytes are there and are one too many.
  Bytes in = bytes(mgmt_of(MgmtKind::kConnectRtu));
  in[6] = std::byte{2};
  in[7] = std::byte{1};
  in.resize(in.size() + 513);
  EXPECT_EQ(error_of(in), MgmtError::kLength);
}

TEST(MgmtTest, queue_pairs_with_illegal_values_are_refused) {
  const auto error_with = [](MgmtKind kind, auto edit) {
    Mgmt m = mgmt_of(kind);
    edit(m);
    return error_of(bytes(m));
  };
  const auto req = MgmtKind::kConnectReq;
  EXPECT_EQ(error_with(req, [](Mgmt& m) { m.pair_count = 0; }), MgmtError::kPair);
  EXPECT_EQ(error_with(req, [](Mgmt& m) { m.pairs[1].channel = 0; }), MgmtError::kPair);
  EXPECT_EQ(error_with(req, [](Mgmt& m) { m.pairs[1].mcp = 0; }), MgmtError::kPair);
  EXPECT_EQ(error_with(req, [](Mgmt& m) { m.pairs[1].mcp = 1366; }), MgmtError::kPair);
  EXPECT_EQ(error_with(req, [](Mgmt& m) { m.pairs[1].qpn = Qpn(0); }), MgmtError::kPair);
  EXPECT_EQ(error_with(MgmtKind::kDisc, [](Mgmt& m) { m.pairs[0].mcp = 0; }), MgmtError::kNone);
  EXPECT_EQ(error_with(MgmtKind::kConnectRtu, [](Mgmt& m) { m.pair_count = 0; }), MgmtError::kNone);
  for (unsigned service = 0; service < 256; ++service) {
    EXPECT_EQ(error_with(req, [&](Mgmt& m) { m.pairs[0].service = static_cast<Service>(service); }),
              service <= 6 ? MgmtError::kNone : MgmtError::kPair);
  }
}

}  // namespace mgmt_test
}  // namespace splitnic::fabric
