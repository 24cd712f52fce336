// While data flows, losses included, nothing is taken from the heap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::allocation_test {
std::size_t allocations = 0;
}  // namespace splitnic::fabric::testing::allocation_test

// Not inlined: gcc would else see free() of what it knows to be new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++splitnic::fabric::testing::allocation_test::allocations;
  if (void* at = std::malloc(bytes == 0 ? 1 : bytes)) return at;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace splitnic::fabric::testing::allocation_test {

// Sends and RDMA writes of many cells, with all that a test takes reserved before.
void expect_none(AdapterPair& pair, bool loses) {
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(1 << 20);
  Memory& from = pair.b().memory(1 << 20, 1);
  for (auto* wcs : {&pair.a().received, &pair.b().sent}) wcs->reserve(4096);
  const std::vector<Sge> whole{from.sge()}, room{to.sge()}, piece{from.sge(0, 5000)};
  std::size_t counted = 0;
  for (int round = 0; round < 20; ++round) {
    if (round == 10) counted = allocations;  // buffers have grown to their size by now
    SendWr wr;
    wr.op = WrOp::kRdmaWrite;
    wr.gather = whole;
    wr.remote_address = to.start;
    wr.remote_handle = to.handle;
    wr.idata = 1;
    ASSERT_TRUE(pair.a().adapter->post_recv(qp.a, RecvWr{0, room}));
    ASSERT_TRUE(pair.b().adapter->post_send(qp.b, wr));
    SendWr send;
    send.gather = piece;
    ASSERT_TRUE(pair.a().adapter->post_recv(qp.a, RecvWr{0, room}));
    ASSERT_TRUE(pair.b().adapter->post_send(qp.b, send));
    const std::size_t done = pair.b().sent.size() + 2;
    for (int i = 0; i < 100'000 && pair.b().sent.size() < done; ++i) pair.step();
    ASSERT_EQ(pair.b().sent.size(), done);
  }
  // The reorder buffer takes memory on demand: a new record of cells kept is no rule.
  EXPECT_LE(allocations - counted, loses ? 5U : 0U);
  if (loses) {
    EXPECT_GT(pair.b().count(TransportCounter::kTxRetransmit), 100U);
  }
}

TEST(AllocationTest, S001_44_none_while_data_flows) {
  PairOptions options;
  options.hub.batch_queue_max = 6;  // the carrier's own buffers have their size soon
  AdapterPair pair(options);
  expect_none(pair, false);
}

// A carrier that drops without the help of a decorator, which allocates.
TEST(AllocationTest, S001_44_none_while_cells_are_retransmitted) {
  PairOptions options;
  options.hub.batch_queue_max = 6;
  options.hub.drops_when_full = true;
  AdapterPair pair(options);
  expect_none(pair, true);
}

}  // namespace splitnic::fabric::testing::allocation_test
