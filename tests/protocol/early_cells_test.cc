// Cells that arrive before their first: kept up to three windows of the queue pair, and no more.
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing::early_cells_test {

using namespace std::chrono_literals;

// One RDMA write of 201 full cells, whose first is late.
TEST(EarlyCellsTest, X_40_early_cells_are_kept_up_to_three_windows) {
  constexpr std::size_t kCells = 201;
  constexpr std::uint64_t kWindow = 64 * 1024;
  AdapterPair pair;
  const QpPair qp = pair.connect({.window_bytes_max = kWindow});
  const std::size_t bytes = pair.a().qp(qp.a).attr().mcp;
  ASSERT_GT((kCells - 1) * bytes, 3 * kWindow);
  Memory& to = pair.a().memory(kCells * bytes);
  std::vector<std::byte> data(kCells * bytes);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern(3, i);
  CellMaker maker(pair, 1, qp.b, 0, qp.a);
  std::vector<std::vector<std::byte>> cells;
  for (std::size_t i = 0; i < kCells; ++i) {
    CellParts parts;
    if (i == 0) parts.va_mh = VaMh{to.start, to.handle, static_cast<std::uint32_t>(data.size())};
    const Pos pos = i == 0 ? Pos::kFirst : i + 1 == kCells ? Pos::kLast : Pos::kMiddle;
    cells.push_back(
        maker.next(Op::kRdmaWrite, pos, base::Bytes(data).subspan(i * bytes, bytes), parts));
  }
  for (std::size_t i = 1; i < kCells; ++i) maker.inject(cells[i]);
  pair.run_for(1ms);
  const std::uint64_t kept = pair.a().count(TransportCounter::kRxCopied);
  EXPECT_GT(kept, 0U);
  EXPECT_LE(kept * cells[1].size(), 3 * kWindow);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropReorderFull), kCells - 1 - kept);
  EXPECT_TRUE(to.is_zero());
  for (const auto& cell : cells) maker.inject(cell);  // as the peer repeats what has no ACK
  pair.run_for(1ms);
  EXPECT_EQ(to.bytes, data);
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kRts);
}

// A Send is early and named in a bitmap, because the write before it was lost. When it is the next
// no receive is posted.
void expect_early_send_is_repeated(bool loses_nak) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.rnr_retry = 7});
  Memory& to = pair.a().memory(200);
  Memory& from = pair.b().memory(100, 2);
  pair.a().faults.drop_received([](base::Bytes) { return true; });
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  pair.run_for(100us);
  pair.a().faults.drop_received({});
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().count(TransportCounter::kRxAcks) == 1; }));
  ASSERT_EQ(pair.a().count(TransportCounter::kRxCopied), 1U);
  bool is_lost = !loses_nak;
  pair.b().faults.drop_received([&](base::Bytes) {
    return pair.a().count(TransportCounter::kTxRnr) == 1 && !std::exchange(is_lost, true);
  });
  ASSERT_TRUE(pair.run_until([&] { return pair.a().count(TransportCounter::kTxRnr) == 3; }));
  ASSERT_TRUE(is_lost);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge(100, 100)}));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 2; }));
  for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  ASSERT_EQ(pair.a().received.size(), 1U);
  EXPECT_TRUE(std::equal(from.bytes.begin(), from.bytes.end(), to.bytes.begin() + 100));
}

TEST(EarlyCellsTest, P_RC_16_a_cell_that_a_bitmap_named_and_rnr_refused_is_retransmitted) {
  expect_early_send_is_repeated(false);
}

TEST(EarlyCellsTest, P_RC_16_the_same_where_the_first_rnr_is_lost) {
  expect_early_send_is_repeated(true);
}

}  // namespace splitnic::fabric::testing::early_cells_test
