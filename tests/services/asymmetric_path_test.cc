// RC where cells and the replies to them go by different spines, each of which carries one
// direction only: what the peer did not take is reported by the other way, and repaired.
#include <gtest/gtest.h>

#include "tests/support/spines_carrier.h"

namespace splitnic::fabric {
namespace asymmetric_path_test {

using namespace testing;
using namespace std::chrono_literals;

class AsymmetricPathTest : public ::testing::Test {
 protected:
  // From here on cells get to the unit by spine 2 only, and to the host by spine 1 only.
  QpPair connect(const QpInit& init) {
    const QpPair qp = pair.connect(init);
    pair.run_for(1ms);
    world.fabric.kill_way_to_unit(1);
    world.fabric.kill_way_to_host(2);
    return qp;
  }
  std::uint64_t of_unit(TransportCounter which) { return pair.a().count(which); }
  std::uint64_t of_host(TransportCounter which) { return pair.b().count(which); }

  // The host knows the unit by the second LID of its port, and has replies at its own first one.
  SpinesPair world{{.path = 1}};
  AdapterPair& pair = world.pair;
};

TEST_F(AsymmetricPathTest, S000_18_a_gap_is_repaired_by_a_nak_that_comes_by_the_other_path) {
  constexpr std::size_t kCells = 60;
  const QpPair qp = connect({.common = {.fixed_rto = 10s}, .selective_repeat = false});
  const std::size_t mcp = pair.b().link().mcp();
  Memory& to = pair.a().memory(kCells * mcp);
  Memory& from = pair.b().memory(kCells * mcp, 2);
  unsigned seen = 0;
  pair.a().faults.drop_received(
      [&](base::Bytes datagram) { return datagram.size() > mcp && seen++ == 20; });
  const std::uint64_t by_first = world.fabric.cells_of(1), by_second = world.fabric.cells_of(2);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 100ms))
      << "by the NAK, not by the timeout";
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_GE(of_unit(TransportCounter::kTxNaks), 1U);
  EXPECT_EQ(of_host(TransportCounter::kRxNaks), of_unit(TransportCounter::kTxNaks));
  EXPECT_EQ(of_host(TransportCounter::kTimeouts), 0U);
  const std::uint64_t repeated = of_host(TransportCounter::kTxRetransmit);
  EXPECT_GT(repeated, 0U);
  EXPECT_GE(world.fabric.cells_of(2) - by_second, kCells + repeated);
  EXPECT_GE(world.fabric.cells_of(1) - by_first, of_unit(TransportCounter::kTxNaks));
}

TEST_F(AsymmetricPathTest, S000_18_a_missing_receive_is_reported_by_the_other_path) {
  const QpPair qp = connect({.common = {.fixed_rto = 1s}});
  Memory& to = pair.a().memory(5000);
  Memory& from = pair.b().memory(5000, 2);
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return of_host(TransportCounter::kRnrSeen) > 0; }, 100ms));
  EXPECT_GT(of_unit(TransportCounter::kTxRnr), 0U);
  EXPECT_TRUE(pair.b().sent.empty());
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 100ms));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.a().received.size(), 1U);
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_EQ(of_host(TransportCounter::kTimeouts), 0U);
}

}  // namespace asymmetric_path_test
}  // namespace splitnic::fabric
