// From packet to cells and back: segmentation, what each cell carries, what a receiver refuses.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing::cell_test {

using namespace std::chrono_literals;

// Connected, with a capture at b and registered memory at both ends.
struct Harness {
  explicit Harness(std::uint16_t mcp, std::size_t bytes, const QpInit& init = {})
      : pair([&] {
          PairOptions options;
          options.mcp = mcp;
          return options;
        }()),
        qp(pair.connect(init)),
        to(pair.a().memory(bytes)),
        from(pair.b().memory(bytes, 3)),
        maker(pair, 1, qp.b, 0, qp.a) {
    pair.b().tap.is_recording = true;
  }
  // Data cells that b sent, in order.
  std::vector<TappedCell> sent_cells() {
    std::vector<TappedCell> out;
    for (const TappedCell& cell : pair.b().tap.cells) {
      if (cell.sent && cell.header().service != Service::kMgmt) out.push_back(cell);
    }
    return out;
  }
  void write(std::size_t bytes, std::optional<std::uint32_t> idata = {}) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge(0, bytes)}, to.start, to.handle, bytes, idata));
    const std::size_t before = pair.b().sent.size();
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() > before; }));
    ASSERT_EQ(pair.b().sent.back().status, WcStatus::kSuccess);
  }
  VaMh target(std::size_t bytes) const {
    return {to.start, to.handle, static_cast<std::uint32_t>(bytes)};
  }
  base::Bytes bytes(std::size_t offset, std::size_t n) const {
    return base::Bytes(from.bytes).subspan(offset, n);
  }
  std::uint64_t count(TransportCounter which) const {
    return const_cast<Harness*>(this)->pair.a().count(which);
  }
  // a replied with this NAK, and both queue pairs of an acknowledged service are in ERR.
  void expect_invalid_request() {
    pair.run_for(1ms);
    EXPECT_EQ(count(TransportCounter::kTxNaks), 1U);
    EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
    AckExt ack;
    bool found = false;
    for (const TappedCell& cell : pair.b().tap.cells) {
      if (cell.sent || cell.header().op != Op::kNak) continue;
      found = parse_ack(cell.view(), ack);
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(ack.code, AckCode::kInvalidRequest);
  }

  AdapterPair pair;
  QpPair qp;
  Memory& to;
  Memory& from;
  CellMaker maker;
};

TEST(CellsTest, S001_33_X_42_256_bytes_are_one_cell_and_257_two) {
  Harness harness(256, 512);
  harness.write(256);
  EXPECT_EQ(harness.sent_cells().size(), 1U);
  harness.write(257);
  EXPECT_EQ(harness.sent_cells().size(), 3U);
  harness.write(0);
  EXPECT_EQ(harness.sent_cells().size(), 4U);
}

TEST(CellsTest, S001_33_a_mebibyte_arrives_whole_with_every_cell_size) {
  for (const std::uint16_t mcp : std::array<std::uint16_t, 4>{64, 256, 1024, 0}) {
    Harness harness(mcp, 1 << 20);
    harness.write(1 << 20);
    EXPECT_EQ(harness.to.bytes, harness.from.bytes) << mcp;
    const std::size_t size = harness.pair.a().link().mcp();
    EXPECT_EQ(harness.sent_cells().size(), ((1 << 20) + size - 1) / size);
  }
}

TEST(CellsTest, S001_33_a_packet_has_at_most_65536_cells) {
  Harness harness(4, 65536 * 4 + 1);
  const auto too_long = harness.pair.b().post_write(harness.qp.b, {harness.from.sge()},
                                                    harness.to.start, harness.to.handle);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().errno_value(), EMSGSIZE);
  harness.write(65536 * 4);
  EXPECT_TRUE(
      std::equal(harness.to.bytes.begin(), harness.to.bytes.end() - 1, harness.from.bytes.begin()));
}

TEST(CellsTest, S001_36_a_cell_with_any_bit_flipped_is_discarded) {
  Harness harness(0, 24);
  const auto cell = harness.maker.next(Op::kRdmaWrite, Pos::kOnly, harness.bytes(0, 24),
                                       {.va_mh = harness.target(24)});
  // A longer header than there are bytes is no cell at all; everything else is a wrong CRC.
  const auto drops = [&] {
    return harness.count(TransportCounter::kCellDropCrc) +
           harness.count(TransportCounter::kCellDropFormat);
  };
  for (std::size_t bit = 0; bit < cell.size() * 8; ++bit) {
    auto flipped = cell;
    flipped[bit / 8] ^= std::byte{0x80} >> (bit % 8);
    const std::uint64_t before = drops();
    harness.maker.inject(flipped);
    harness.pair.step();
    ASSERT_EQ(drops(), before + 1) << bit;
    ASSERT_TRUE(harness.to.is_zero()) << bit;
  }
  harness.maker.inject(cell);
  harness.pair.step();
  EXPECT_EQ(harness.to.bytes, harness.from.bytes);
}

TEST(CellsTest, S001_37_only_the_first_cell_has_the_address_of_the_packet) {
  Harness harness(0, 1364 * 4);
  harness.write(1364 * 4);
  const auto cells = harness.sent_cells();
  ASSERT_EQ(cells.size(), 4U);
  const Pos pos[] = {Pos::kFirst, Pos::kMiddle, Pos::kMiddle, Pos::kLast};
  for (std::size_t i = 0; i < 4; ++i) {
    const CellView view = cells[i].view();
    EXPECT_EQ(view.header.pos, pos[i]);
    EXPECT_EQ(view.header.csn, i);
    EXPECT_EQ(view.header.psn, cells[0].view().header.psn);
    EXPECT_EQ(view.va_mh.has_value(), i == 0);
    if (i == 0) {
      EXPECT_EQ(*view.va_mh, harness.target(1364 * 4));
    }
  }
  EXPECT_EQ(harness.to.bytes, harness.from.bytes);
}

// The payloads of two middle cells are swapped on the way and each cell CRC is recomputed. The last
// cell comes after this time.
void swap_middle(Harness& harness, base::Duration late = {}) {
  harness.pair.a().faults.drop_received([](base::Bytes) { return true; });
  ASSERT_TRUE(harness.pair.b().post_write(harness.qp.b, {harness.from.sge()}, harness.to.start,
                                          harness.to.handle, 5));
  harness.pair.run_for(1ms);
  harness.pair.a().faults.drop_received({});
  auto cells = harness.sent_cells();
  ASSERT_EQ(cells.size(), 5U);
  ASSERT_TRUE(cells[4].view().packet_crc.has_value());
  std::swap_ranges(cells[1].bytes.begin() + kMacHeaderBytes, cells[1].bytes.end() - kCrcBytes,
                   cells[2].bytes.begin() + kMacHeaderBytes);
  for (auto& cell : cells) {
    if (&cell == &cells.back() && late > base::Duration{}) {
      harness.pair.run_for(late);
      EXPECT_EQ(harness.pair.b().count(TransportCounter::kRxAcks), 1U);  // of those before it
    }
    reseal(cell.bytes);
    harness.maker.inject(cell.bytes);
  }
  harness.pair.run_for(1ms);
  EXPECT_EQ(harness.count(TransportCounter::kPacketCrc), 1U);
}

TEST(CellsTest, S001_38_the_packet_crc_finds_swapped_payloads_and_the_packet_comes_again) {
  Harness harness(0, 1364 * 5, {.common = {.fixed_rto = 10s}, .packet_crc = true});
  swap_middle(harness);
  ASSERT_TRUE(harness.pair.run_until([&] { return !harness.pair.b().sent.empty(); }, 5s));
  EXPECT_EQ(harness.pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(harness.to.bytes, harness.from.bytes);
  EXPECT_EQ(harness.pair.b().count(TransportCounter::kTxRetransmit), 5U);
  harness.write(1364 * 3);  // and the queue pair continues
}

// The NAK then has a smaller cumulative LCN than the ACK before it, and is not stale.
TEST(CellsTest, P_RC_20_P_ACK_6_a_packet_that_was_acknowledged_in_part_comes_again) {
  Harness harness(0, 1364 * 5, {.common = {.fixed_rto = 10s}, .packet_crc = true});
  swap_middle(harness, 1ms);
  ASSERT_TRUE(harness.pair.run_until([&] { return !harness.pair.b().sent.empty(); }, 5s));
  EXPECT_EQ(harness.pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(harness.to.bytes, harness.from.bytes);
  EXPECT_EQ(harness.pair.b().count(TransportCounter::kAckStale), 0U);
  harness.write(1364 * 3);
}

TEST(CellsTest, S001_38_an_unacknowledged_packet_is_dropped) {
  Harness harness(0, 1364 * 5, {.service = Service::kUc, .packet_crc = true});
  ASSERT_TRUE(harness.pair.a().post_recv(harness.qp.a));
  swap_middle(harness);
  EXPECT_TRUE(harness.pair.a().received.empty());
  EXPECT_EQ(harness.pair.a().qp(harness.qp.a).state(), QpState::kRts);
}

TEST(CellsTest, S001_38_every_packet_carries_its_crc_through_losses) {
  Harness harness(0, 300'000, {.packet_crc = true});
  FaultConfig faults;
  faults.loss_ppm = 30'000;
  harness.pair.a().faults.set_config(faults);
  for (int i = 0; i < 10; ++i) harness.write(300'000);
  EXPECT_EQ(harness.to.bytes, harness.from.bytes);
  EXPECT_GT(harness.pair.b().count(TransportCounter::kTxRetransmit), 10U);
  EXPECT_EQ(harness.count(TransportCounter::kPacketCrc), 0U);
}

class Idata : public ::testing::TestWithParam<int> {};

// Bit i of the parameter: cell i carries it.
TEST_P(Idata, S001_39_idata_on_any_cells_gives_one_completion) {
  Harness harness(0, 1364 * 3);
  ASSERT_TRUE(harness.pair.a().post_recv(harness.qp.a, {}, 8));
  const Pos pos[] = {Pos::kFirst, Pos::kMiddle, Pos::kLast};
  for (std::size_t i = 0; i < 3; ++i) {
    CellParts parts;
    if (i == 0) parts.va_mh = harness.target(1364 * 3);
    if ((GetParam() >> i & 1) != 0) parts.idata = 0x07050100;
    harness.maker.send(Op::kRdmaWrite, pos[i], harness.bytes(i * 1364, 1364), parts);
  }
  harness.pair.run_for(1ms);
  ASSERT_EQ(harness.pair.a().received.size(), 1U);
  const Wc& wc = harness.pair.a().received[0];
  EXPECT_TRUE(wc.has_idata);
  EXPECT_EQ(wc.idata, 0x07050100U);
  EXPECT_EQ(wc.bytes, 1364U * 3);
  EXPECT_EQ(wc.address, harness.to.start);
  EXPECT_EQ(wc.wr_id, 8U);
  EXPECT_EQ(harness.to.bytes, harness.from.bytes);
}

INSTANTIATE_TEST_SUITE_P(Cells, Idata, ::testing::Values(1, 2, 4, 7));

TEST(CellsTest, X_39_a_sender_puts_idata_on_the_last_cell_only) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(5 * 1364);
  Memory& from = pair.b().memory(5 * 1364, 1);
  ASSERT_TRUE(pair.a().post_recv(qp.a));
  pair.b().tap.is_recording = true;
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 1, 77));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  std::size_t writes = 0;
  for (const TappedCell& cell : pair.b().tap.cells) {
    if (!cell.sent || cell.header().op != Op::kRdmaWrite) continue;
    ++writes;
    EXPECT_EQ(cell.view().idata.has_value(), is_last(cell.header().pos)) << writes;
  }
  EXPECT_EQ(writes, 5U);
}

TEST(CellsTest, S001_39_idata_that_disagrees_is_an_invalid_request) {
  Harness harness(0, 1364 * 2);
  ASSERT_TRUE(harness.pair.a().post_recv(harness.qp.a));
  harness.maker.send(Op::kRdmaWrite, Pos::kFirst, harness.bytes(0, 1364),
                     {.va_mh = harness.target(2728), .idata = 1});
  harness.maker.send(Op::kRdmaWrite, Pos::kLast, harness.bytes(0, 1364), {.idata = 2});
  harness.expect_invalid_request();
}

// Sequences and lengths that no sender makes. Each starts from a fresh connection.
using Script = std::function<void(Harness&)>;
struct Illegal {
  const char* name;
  Script send;
};
std::ostream& operator<<(std::ostream& out, const Illegal& c) { return out << c.name; }

Script first_of_write(std::uint32_t declared) {
  return [=](Harness& b) {
    b.maker.send(Op::kRdmaWrite, Pos::kFirst, b.bytes(0, 1364),
                 {.va_mh = VaMh{b.to.start, b.to.handle, declared}});
  };
}

const std::vector<Illegal>& illegal() {
  static const std::vector<Illegal> cases = {
      {"middle_without_first",
       [](Harness& b) { b.maker.send(Op::kSend, Pos::kMiddle, b.bytes(0, 1364)); }},
      {"last_without_first",
       [](Harness& b) {
         b.maker.csn = 1;
         b.maker.send(Op::kSend, Pos::kLast, b.bytes(0, 100));
       }},
      {"send_inside_write",
       [](Harness& b) {
         b.maker.send(Op::kRdmaWrite, Pos::kFirst, b.bytes(0, 1364), {.va_mh = b.target(2728)});
         b.maker.send(Op::kSend, Pos::kLast, b.bytes(0, 1364));
       }},
      {"first_inside_packet",
       [](Harness& b) {
         b.maker.send(Op::kSend, Pos::kFirst, b.bytes(0, 1364));
         b.maker.csn = 0;
         b.maker.send(Op::kSend, Pos::kFirst, b.bytes(0, 1364));
       }},
      {"last_missing",
       [](Harness& b) {
         b.maker.send(Op::kSend, Pos::kFirst, b.bytes(0, 1364));
         b.maker.csn = 0;
         ++b.maker.psn;
         b.maker.send(Op::kSend, Pos::kOnly, b.bytes(0, 100));
       }},
      {"first_shorter_than_the_mcp",
       [](Harness& b) { b.maker.send(Op::kSend, Pos::kFirst, b.bytes(0, 1360)); }},
      {"middle_shorter_than_the_mcp",
       [](Harness& b) {
         b.maker.send(Op::kSend, Pos::kFirst, b.bytes(0, 1364));
         b.maker.send(Op::kSend, Pos::kMiddle, b.bytes(0, 1360));
       }},
      {"last_empty",
       [](Harness& b) {
         b.maker.send(Op::kSend, Pos::kFirst, b.bytes(0, 1364));
         b.maker.send(Op::kSend, Pos::kLast, {});
       }},
      {"only_longer_than_the_mcp",
       [](Harness& b) { b.maker.send(Op::kSend, Pos::kOnly, b.bytes(0, 1368)); }},
      {"write_shorter_than_it_declares",
       [](Harness& b) {
         b.maker.send(Op::kRdmaWrite, Pos::kOnly, b.bytes(0, 100), {.va_mh = b.target(101)});
       }},
      {"write_longer_than_it_declares", first_of_write(1364)},
      {"write_of_more_than_2_31", first_of_write(0x80000001U)},
      {"write_of_more_than_65536_cells", first_of_write(65536 * 1364 + 1)},
      {"unknown_operation",
       [](Harness& b) {
         CellHead head;
         head.header = b.maker.header(static_cast<Op>(0x3E), Pos::kOnly);
         b.maker.inject(make_cell(head, b.bytes(0, 20)));
       }},
      {"wrong_packet_number",
       [](Harness& b) {
         b.maker.psn = b.maker.psn + 1U;
         b.maker.send(Op::kSend, Pos::kOnly, b.bytes(0, 20));
       }},
  };
  return cases;
}

class IllegalCells : public ::testing::TestWithParam<std::size_t> {};

TEST_P(IllegalCells, T_19_T_20_S004_05_rc_replies_invalid_request) {
  Harness harness(0, 1364 * 4);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(harness.pair.a().post_recv(harness.qp.a, {harness.to.sge()}, 1));
  }
  illegal()[GetParam()].send(harness);
  harness.expect_invalid_request();
  ASSERT_FALSE(harness.pair.a().received.empty());
  for (const Wc& wc : harness.pair.a().received) EXPECT_EQ(wc.status, WcStatus::kFlushed);
}

TEST_P(IllegalCells, T_20_uc_drops_and_uses_the_receive_again) {
  Harness harness(0, 1364 * 4, {.service = Service::kUc});
  ASSERT_TRUE(harness.pair.a().post_recv(harness.qp.a, {harness.to.sge()}, 1));
  illegal()[GetParam()].send(harness);
  harness.pair.run_for(1ms);
  const bool is_legal_after_all =  // on UC a new packet may begin at any time
      std::string_view(illegal()[GetParam()].name) == "last_missing" ||
      std::string_view(illegal()[GetParam()].name) == "wrong_packet_number";
  EXPECT_EQ(harness.pair.a().received.size(), is_legal_after_all ? 1U : 0U);
  if (is_legal_after_all) {
    ASSERT_TRUE(harness.pair.a().post_recv(harness.qp.a, {harness.to.sge()}, 1));
  }
  harness.maker.psn = harness.maker.psn + 2U;
  harness.maker.csn = 0;
  harness.maker.send(Op::kSend, Pos::kOnly, harness.bytes(7, 20));
  harness.pair.run_for(1ms);
  ASSERT_FALSE(harness.pair.a().received.empty());
  const Wc& wc = harness.pair.a().received.back();
  EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(wc.wr_id, 1U);
  EXPECT_EQ(wc.bytes, 20U);
  EXPECT_EQ(harness.pair.a().qp(harness.qp.a).state(), QpState::kRts);
  EXPECT_EQ(harness.count(TransportCounter::kTxNaks), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, IllegalCells, ::testing::Range<std::size_t>(0, 15),
                         [](const auto& test) { return illegal()[test.param].name; });

TEST(CellsTest, T_19_nothing_is_placed_behind_the_bad_cell) {
  Harness harness(0, 1364 * 4);
  harness.maker.send(Op::kRdmaWrite, Pos::kFirst, harness.bytes(0, 1364),
                     {.va_mh = harness.target(1364 * 4)});
  harness.maker.send(Op::kRdmaWrite, Pos::kMiddle, harness.bytes(1364, 1360));
  harness.maker.send(Op::kRdmaWrite, Pos::kMiddle, harness.bytes(2728, 1364));
  harness.expect_invalid_request();
  EXPECT_TRUE(std::equal(harness.to.bytes.begin(), harness.to.bytes.begin() + 1364,
                         harness.from.bytes.begin()));
  EXPECT_TRUE(std::all_of(harness.to.bytes.begin() + 1364, harness.to.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace splitnic::fabric::testing::cell_test
