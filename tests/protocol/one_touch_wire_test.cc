// The peer is not notified that a window has one touch: what travels is, byte for byte, what
// travels for a window that takes many [S002-22].
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::one_touch_wire_test {

using namespace std::chrono_literals;
using Cells = std::vector<std::pair<bool, std::vector<std::byte>>>;

// Runs one exchange through a window of end a and returns every cell that end b sent or received.
// The same numbers are drawn each time.
template <class Exchange>
Cells cells_of(bool is_one_touch, Exchange exchange) {
  AdapterPair pair;
  const QpPair qp = pair.connect(reading(4));
  const Memory& there = pair.a().memory(20'000, 6);
  Mrwt& table = pair.a().adapter->memory();
  const MemoryHandle handle = table.windows()
                                  .bind_window(pair.a().pd, there.handle, there.start, 20'000,
                                               kRemoteRead | kRemoteWrite, Qpn{})
                                  .value();
  if (is_one_touch) table.one_touch().enable(handle);
  pair.b().tap.is_recording = true;
  exchange(pair, qp, Memory{.bytes = {}, .handle = handle, .start = there.start});
  EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  pair.run_for(10ms);
  EXPECT_EQ(table.entry(handle)->touched, is_one_touch) << "it is used up, or it has no such end";
  Cells cells;
  for (const auto& cell : pair.b().tap.cells) cells.emplace_back(cell.sent, cell.bytes);
  return cells;
}

template <class Exchange>
void expect_same_cells(Exchange exchange) {
  const Cells many = cells_of(false, exchange);
  EXPECT_GT(many.size(), 2U);
  EXPECT_EQ(cells_of(true, exchange), many);
}

TEST(OneTouchWireTest, S002_22_a_write_looks_the_same_to_the_peer) {
  expect_same_cells([](AdapterPair& pair, const QpPair& qp, const Memory& window) {
    const Memory& from = pair.b().memory(9000, 2);
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, window.start, window.handle, 0, 77));
    ASSERT_TRUE(pair.a().post_recv(qp.a));
  });
}

TEST(OneTouchWireTest, S002_22_a_read_looks_the_same_to_the_peer) {
  expect_same_cells([](AdapterPair& pair, const QpPair& qp, const Memory& window) {
    const Memory& into = pair.b().memory(9000);
    ASSERT_TRUE(post_read(pair.b(), qp.b, {into.sge()}, window));
  });
}

TEST(OneTouchWireTest, S002_22_a_fetch_op_looks_the_same_to_the_peer) {
  expect_same_cells([](AdapterPair& pair, const QpPair& qp, const Memory& window) {
    const Memory& old = pair.b().memory(8);
    const AtomicExt fetch{.op = FetchOp::kFetchAdd, .operand1 = 3, .operand2 = 0};
    ASSERT_TRUE(post_fetch(pair.b(), qp.b, old, fetch, window.start, window.handle));
  });
}

}  // namespace splitnic::fabric::testing::one_touch_wire_test
