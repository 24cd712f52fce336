// Cells that arrive before their first: kept up to three windows of the queue pair, and no more.
#include <gtest/gtest.h>

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

}  // namespace splitnic::fabric::testing::early_cells_test
