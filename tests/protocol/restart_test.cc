// Another process at the same address: nothing of the old one is acted on any more.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::restart_test {

using namespace std::chrono_literals;

TEST(RestartTest, F_48_cells_of_the_old_instance_have_no_effect) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(10'000);
  Memory& from = pair.b().memory(10'000, 1);
  Memory& at_a = pair.a().memory(100, 2);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {}, 7));
  // Cells, ACKs and connection setup of the old one, late on the way.
  pair.b().tap.is_recording = true;
  pair.a().faults.drop_received([](base::Bytes) { return true; });
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 1, 9));
  ASSERT_TRUE(pair.a().post_send(qp.a, {at_a.sge()}));
  pair.b().adapter->connections().disconnect(pair.b().last_connection, pair.now());
  pair.run_for(1ms);
  std::vector<TappedCell> old;
  for (const TappedCell& cell : pair.b().tap.cells) {
    if (cell.sent) old.push_back(cell);
  }
  ASSERT_GE(old.size(), 9U);
  pair.a().faults.drop_received({});

  const std::size_t memories = pair.a().adapter->memory().live_count();
  pair.in_process().endpoint(1).clear();
  pair.b().start();
  ASSERT_TRUE(pair.run_until([&] { return pair.a().disconnects == 1; }));
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
  ASSERT_EQ(pair.a().received.size(), 1U);
  EXPECT_EQ(pair.a().received[0].status, WcStatus::kFlushed);
  EXPECT_EQ(pair.a().sent.at(0).status, WcStatus::kFlushed);
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().links.empty(); }));

  const auto drops = [&] {
    return pair.a().count(TransportCounter::kCellDropState) +
           pair.a().count(TransportCounter::kCellDropQp);
  };
  const std::uint64_t before = drops();
  for (const TappedCell& cell : old) pair.a().tap.inject(pair.address(1), cell.bytes);
  pair.run_for(1ms);
  EXPECT_GE(drops() - before, 8U);
  EXPECT_TRUE(to.is_zero());
  EXPECT_EQ(pair.a().adapter->memory().live_count(), memories);

  pair.a().adapter->destroy_qp(qp.a, pair.now());
  const QpPair now = pair.connect(QpInit{});
  EXPECT_NE(now.a, qp.a);
  for (const TappedCell& cell : old) pair.a().tap.inject(pair.address(1), cell.bytes);
  Stream stream(pair.b(), now.b, pair.a(), now.a, {.packets = 50});
  EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
  EXPECT_EQ(stream.failure, "");
  EXPECT_TRUE(to.is_zero());
  EXPECT_EQ(pair.a().disconnects, 1) << "the DISC of the old connection ends nothing now";
}

TEST(RestartTest, F_48_the_listening_side_restarts) {
  AdapterPair pair;
  const QpPair old = pair.connect(QpInit{});
  Memory& from = pair.b().memory(1 << 20, 1);
  Memory& to = pair.a().memory(1 << 20);
  ASSERT_TRUE(pair.b().post_write(old.b, {from.sge()}, to.start, to.handle));
  pair.step();
  pair.in_process().endpoint(0).clear();
  pair.a().start();
  ASSERT_TRUE(pair.run_until([&] { return pair.b().disconnects == 1; }));
  ASSERT_EQ(pair.b().sent.size(), 1U);
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kFlushed);
  ASSERT_TRUE(pair.run_until([&] { return pair.b().link().up() && !pair.a().links.empty(); }));
  const QpPair qp = pair.connect(QpInit{});
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 50});
  EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
  EXPECT_EQ(stream.failure, "");
}

TEST(RestartTest, F_48_restarts_under_load_again_and_again) {
  AdapterPair pair;
  for (int round = 0; round < 10; ++round) {
    pair.a().sent.clear();
    pair.a().received.clear();
    pair.b().sent.clear();
    pair.b().received.clear();
    const QpPair qp = pair.connect(QpInit{});
    Stream up(pair.b(), qp.b, pair.a(), qp.a, {.packets = 100'000});
    Stream down(pair.a(), qp.a, pair.b(), qp.b, {.packets = 100'000});
    for (int step = 0; step < 50 + round; ++step) {
      pair.step();
      EXPECT_FALSE(up.step());
      EXPECT_FALSE(down.step());
    }
    End& restarts = pair.end(static_cast<std::size_t>(round % 2));
    End& stays = pair.end(static_cast<std::size_t>(1 - round % 2));
    const int before = stays.disconnects;
    restarts.start();
    ASSERT_TRUE(pair.run_until([&] { return stays.disconnects > before; })) << round;
    const Qpn left = round % 2 == 0 ? qp.b : qp.a;
    EXPECT_EQ(stays.qp(left).state(), QpState::kErr);
    stays.adapter->destroy_qp(left, pair.now());
    ASSERT_TRUE(pair.run_until([&] {
      return !pair.a().links.empty() && !pair.b().links.empty() && pair.a().link().up() &&
             pair.b().link().up();
    }));
  }
  EXPECT_LE(pair.a().adapter->qp_count(), 1U);
}

}  // namespace splitnic::fabric::testing::restart_test
