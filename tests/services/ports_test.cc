// One RC queue pair over the links of several ports of its node: cells of one message by all of
// them, what ports of unequal rate, delay and loss do to it, and what ends when one of them does.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/port_pair.h"

namespace splitnic::fabric {
namespace ports_test {

using namespace testing;
using namespace std::chrono_literals;

constexpr std::size_t kBytes = 4 << 20;

std::uint64_t retransmitted(PortPair& pair) {
  return pair.b().count(TransportCounter::kTxRetransmit);
}

TEST(PortsTest, S000_46_P_PATH_17_cells_of_one_message_go_by_the_links_of_all_ports) {
  PortPair pair({.ports = 3});
  std::array<std::uint64_t, 3> before{};
  for (unsigned port = 0; port < 3; ++port) before[port] = pair.a().cells_of(port);
  ASSERT_TRUE(pair.transfer(pair.b(), kBytes));
  for (unsigned port = 0; port < 3; ++port) {
    EXPECT_GT(pair.a().cells_of(port) - before[port], 500U) << port;
    EXPECT_NE(pair.link(1, port).remote_lid(), pair.link(1, (port + 1) % 3).remote_lid());
  }
  EXPECT_EQ(retransmitted(pair), 0U);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropSource), 0U);
}

TEST(PortsTest, S000_46_P_PATH_17_a_port_that_is_linked_later_is_used) {
  PortPair pair({.links_later = true});
  ASSERT_TRUE(pair.transfer(pair.b(), kBytes));
  ASSERT_TRUE(pair.transfer(pair.a(), kBytes));
  for (const unsigned port : {0U, 1U}) {
    EXPECT_GT(pair.a().cells_of(port), 1000U) << port;
    EXPECT_GT(pair.b().cells_of(port), 1000U) << port;
  }
}

TEST(PortsTest, S000_46_P_PATH_17_one_end_that_spans_no_links_keeps_both_on_theirs) {
  for (const unsigned wants : {0U, 1U}) {
    PortPairOptions options;
    options.spans_links = {wants == 0, wants == 1};
    PortPair pair(options);
    ASSERT_TRUE(pair.transfer(pair.b(), kBytes));
    EXPECT_EQ(pair.a().cells_of(1), 0U);
    EXPECT_EQ(pair.b().cells_of(1), 0U);
  }
}

TEST(PortsTest, S000_46_P_PATH_18_a_link_of_another_process_is_not_used) {
  PortPairOptions options;
  options.has_one_instance = false;
  PortPair pair(options);
  ASSERT_TRUE(pair.transfer(pair.b(), kBytes));
  ASSERT_TRUE(pair.transfer(pair.a(), kBytes));
  EXPECT_EQ(pair.a().cells_of(1), 0U);
  EXPECT_EQ(pair.b().cells_of(1), 0U);
}

// The ports are the limit: 100 MB/s each.
TEST(PortsTest, S000_46_two_ports_carry_more_than_one) {
  base::Duration took[2];
  for (const unsigned ports : {1U, 2U}) {
    PortPair pair({.ports = ports});
    for (unsigned port = 0; port < ports; ++port) pair.set_rate(port, 100'000'000);
    const auto time = pair.transfer(pair.b(), kBytes);
    ASSERT_TRUE(time.has_value());
    took[ports - 1] = *time;
  }
  const double gain = static_cast<double>(took[0].count()) / static_cast<double>(took[1].count());
  std::printf("two ports carry %.2f times one\n", gain);
  EXPECT_GE(gain, 1.6);
}

// A port that is blocked keeps nothing from the other.
TEST(PortsTest, S000_46_a_slow_port_gets_less) {
  PortPair pair;
  pair.set_rate(0, 10'000'000);
  pair.set_rate(1, 100'000'000);
  const auto time = pair.transfer(pair.b(), kBytes);
  ASSERT_TRUE(time.has_value());
  EXPECT_LT(*time, 120ms) << "by the slow one alone it is 420 ms, by the other 42 ms";
  EXPECT_GT(pair.a().cells_of(1), 2 * pair.a().cells_of(0));
}

// Cells of the faster port arrive before the first of the other.
TEST(PortsTest, S000_46_X_40_cells_of_a_port_with_more_delay_are_waited_for) {
  PortPair pair;
  pair.set_faults(0, {.delay = 300us});
  for (PortNode* sender : {&pair.b(), &pair.a()}) {
    ASSERT_TRUE(pair.transfer(*sender, kBytes));
  }
  EXPECT_GT(pair.a().cells_of(0), 50U);
  EXPECT_GT(pair.a().count(TransportCounter::kRxOutOfOrder), 0U);
  EXPECT_EQ(pair.a().count(TransportCounter::kCellDropReorderFull), 0U);
  EXPECT_EQ(retransmitted(pair), 0U);
}

TEST(PortsTest, S000_18_requests_and_their_acks_take_links_of_different_ports) {
  PortPair pair;
  ASSERT_TRUE(pair.transfer(pair.b(), 100'000));
  pair.a().places[0]->faults.set_config({.loss_ppm = 1'000'000});
  pair.b().places[1]->faults.set_config({.loss_ppm = 1'000'000});
  const auto time = pair.transfer(pair.b(), 1 << 20);
  ASSERT_TRUE(time.has_value());
  EXPECT_LT(*time, 700ms) << "both links are up that long";
}

// Port 1 was the last to go, so its link stands for the queue pair when the other process comes by
// port 0.
TEST(PortsTest, X_46_another_process_behind_links_that_were_down_is_not_the_peer) {
  PortPair pair;
  PortNode& a = pair.a();
  ASSERT_TRUE(pair.transfer(pair.b(), 100'000));
  for (const unsigned port : {0U, 1U}) {
    pair.set_cut(port, true);
    ASSERT_TRUE(pair.run_until([&] { return a.downs == port + 1; }, 3s));
  }
  ASSERT_EQ(a.qp(a.own).link(), &pair.link(0, 1));
  pair.restart_b();
  pair.set_cut(0, false);
  ASSERT_TRUE(pair.run_until([&] { return pair.link(0, 0).up(); }, 10s));
  EXPECT_EQ(a.qp(a.own).link(), &pair.link(0, 1));
  EXPECT_FALSE(a.qp(a.own).paths().has(pair.link(0, 0)));
  pair.set_cut(1, false);
  EXPECT_TRUE(pair.run_until([&] { return a.disconnects == 1; }, 10s));
  EXPECT_EQ(a.qp(a.own).state(), QpState::kErr);
  EXPECT_FALSE(a.qp(a.own).paths().spans()) << "it follows no link of another process";
}

// The responder has heard of losses there, and has no other.
TEST(PortsTest, S000_47_responses_take_the_only_port_that_is_up) {
  PortPair pair;
  ASSERT_TRUE(pair.transfer(pair.b(), 100'000, WrOp::kRdmaRead));
  pair.set_cut(0, true);
  ASSERT_TRUE(pair.run_until([&] { return pair.a().downs == 1 && pair.b().downs == 1; }, 3s));
  const std::uint64_t before = pair.b().count(TransportCounter::kReadRetransmit);
  for (unsigned i = 0; i < 4; ++i) {
    pair.link(0, 1).path_health().on_silent(PathMask{1}, pair.now());
    const auto time = pair.transfer(pair.b(), 100, WrOp::kRdmaRead, 5 + i);
    ASSERT_TRUE(time.has_value()) << i;
    EXPECT_LT(*time, 20ms) << i;
  }
  EXPECT_EQ(pair.b().count(TransportCounter::kReadRetransmit), before);
}

// Each port, with each end as the sender; the link of port 0 is that by which they connected.
struct Death {
  unsigned port;
  bool is_passive_sender;
};
class DeadPortTest : public ::testing::TestWithParam<Death> {
 protected:
  PortNode& sender() { return GetParam().is_passive_sender ? pair.a() : pair.b(); }
  void die() { pair.set_cut(GetParam().port, true); }
  PortPair pair;
};

TEST_P(DeadPortTest, S000_47_P_PATH_19_a_transfer_continues_by_the_other_port) {
  for (const unsigned port : {0U, 1U}) {
    pair.set_rate(port, 100'000'000);
    pair.set_faults(port, {.delay = 10us});
  }
  ASSERT_TRUE(pair.transfer(sender(), kBytes));
  pair.begin(sender(), kBytes, WrOp::kRdmaWrite, 9);
  pair.run_for(10ms);
  die();
  const auto time = pair.finish();
  ASSERT_TRUE(time.has_value());
  // Both ports carry half of it in 21 ms, and one carries what is left at 10 ms in 22 ms.
  const auto late = std::chrono::duration_cast<std::chrono::microseconds>(*time - 32ms);
  std::printf("time to recover %lld us\n", static_cast<long long>(late.count()));
  EXPECT_LT(late, 100ms);
}

TEST_P(DeadPortTest, S000_47_P_PATH_19_the_connection_lives_when_a_link_is_down) {
  ASSERT_TRUE(pair.transfer(sender(), 100'000));
  die();
  const unsigned other = 1 - GetParam().port;
  ASSERT_TRUE(pair.run_until([&] { return pair.a().downs == 1 && pair.b().downs == 1; }, 3s));
  std::vector<base::Duration> times;
  for (unsigned i = 0; i < 50; ++i) {
    const auto time = pair.transfer(sender(), 5000);
    ASSERT_TRUE(time.has_value()) << i;
    times.push_back(*time);
    pair.run_for(10ms);
  }
  std::ranges::sort(times);
  EXPECT_LT(times[40], 1ms);
  for (const unsigned i : {0U, 1U}) {
    PortNode& node = pair.node(i);
    EXPECT_EQ(node.qp(node.own).link(), &pair.link(i, other));
    EXPECT_EQ(node.adapter.connections().link_of(node.connection), &pair.link(i, other));
  }
}

// Then the other one dies.
TEST_P(DeadPortTest, S000_47_P_PATH_19_a_port_that_is_back_is_used) {
  ASSERT_TRUE(pair.transfer(sender(), 100'000));
  die();
  ASSERT_TRUE(pair.run_until([&] { return pair.a().downs == 1 && pair.b().downs == 1; }, 3s));
  pair.set_cut(GetParam().port, false);
  ASSERT_TRUE(pair.run_until(
      [&] { return pair.link(0, GetParam().port).up() && pair.link(1, GetParam().port).up(); },
      5s));
  pair.set_cut(1 - GetParam().port, true);
  const auto time = pair.transfer(sender(), kBytes);
  ASSERT_TRUE(time.has_value());
  EXPECT_LT(*time, 2s);
  ASSERT_TRUE(pair.run_until([&] { return pair.a().downs == 2 && pair.b().downs == 2; }, 3s));
  EXPECT_TRUE(pair.transfer(sender(), kBytes));
}

TEST_P(DeadPortTest, S000_47_P_PATH_19_reads_continue_by_the_other_port) {
  ASSERT_TRUE(pair.transfer(sender(), 100'000, WrOp::kRdmaRead));
  die();
  for (unsigned i = 0; i < 6; ++i) {
    const auto time = pair.transfer(sender(), 100'000, WrOp::kRdmaRead, 5 + i);
    ASSERT_TRUE(time.has_value()) << i;
    EXPECT_LT(*time, 700ms) << i;
  }
}

TEST_P(DeadPortTest, S000_47_P_PATH_20_a_connection_is_ended_by_the_other_port) {
  PortNode& other_end = GetParam().is_passive_sender ? pair.b() : pair.a();
  ASSERT_TRUE(pair.transfer(sender(), 100'000));
  die();
  ASSERT_TRUE(pair.run_until([&] { return pair.a().downs == 1 && pair.b().downs == 1; }, 3s));
  sender().adapter.connections().disconnect(sender().connection, pair.now());
  EXPECT_TRUE(pair.run_until([&] { return other_end.disconnects == 1; }, 500ms));
  EXPECT_TRUE(pair.run_until([&] { return sender().adapter.connections().size() == 0; }, 500ms));
}

TEST_P(DeadPortTest, X_46_another_process_at_all_ports_ends_the_queue_pair) {
  ASSERT_TRUE(pair.transfer(sender(), 100'000));
  die();
  ASSERT_TRUE(pair.run_until([&] { return pair.a().downs == 1; }, 3s));
  pair.set_cut(GetParam().port, false);
  pair.restart_b();
  EXPECT_TRUE(pair.run_until([&] { return pair.a().disconnects == 1; }, 5s));
  EXPECT_EQ(pair.a().qp(pair.a().own).state(), QpState::kErr);
}

TEST_P(DeadPortTest, S000_47_P_PATH_20_disc_of_a_queue_pair_that_is_gone_takes_the_other_port) {
  PortNode& other_end = GetParam().is_passive_sender ? pair.b() : pair.a();
  ASSERT_TRUE(pair.transfer(sender(), 100'000));
  die();
  sender().adapter.connections().disconnect(sender().connection, pair.now());
  sender().adapter.destroy_qp(sender().own, pair.now());
  EXPECT_TRUE(pair.run_until([&] { return other_end.disconnects == 1; }, 3s));
  EXPECT_TRUE(pair.run_until([&] { return sender().adapter.connections().size() == 0; }, 3s));
}

INSTANTIATE_TEST_SUITE_P(All, DeadPortTest,
                         ::testing::Values(Death{0, false}, Death{0, true}, Death{1, false},
                                           Death{1, true}),
                         [](const auto& death) {
                           return "port_" + std::to_string(death.param.port) +
                                  (death.param.is_passive_sender ? "_passive" : "_active");
                         });

// Each message arrives once, in its order, with its bytes, whatever ports lose, repeat, delay and
// reorder, and while one of them is gone.
class FaultyPortsTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  FaultConfig some_faults() {
    FaultConfig faults;
    faults.loss_ppm = static_cast<std::uint32_t>(chance.below(20'000));
    faults.duplicate_ppm = static_cast<std::uint32_t>(chance.below(5'000));
    faults.reorder_ppm = static_cast<std::uint32_t>(chance.below(20'000));
    faults.delay = std::chrono::microseconds(chance.below(4'000));
    faults.jitter = std::chrono::microseconds(chance.below(500));
    return faults;
  }
  base::SeededRandom chance{GetParam()};
  PortPair pair{{.ports = 3, .seed = GetParam()}};
};

TEST_P(FaultyPortsTest, S000_46_S000_47_messages_keep_their_order_and_bytes) {
  constexpr unsigned kMessages = 60;
  for (unsigned port = 0; port < 3; ++port) pair.set_faults(port, some_faults());
  std::vector<const Memory*> from, to;
  for (unsigned i = 0; i < kMessages; ++i) {
    const std::size_t bytes = 1 + chance.below(40'000);
    from.push_back(&pair.b().memory(bytes, i + 1));
    to.push_back(&pair.a().memory(bytes));
    const std::array room{to.back()->sge()};
    ASSERT_TRUE(pair.a().adapter.post_recv(pair.a().own, RecvWr{i, room}));
  }
  const auto dies_at = static_cast<std::size_t>(chance.below(kMessages));
  const auto dies = static_cast<unsigned>(chance.below(3));
  for (const Memory* one : from) pair.b().post(WrOp::kSend, pair.b().own, *one, Memory{});
  ASSERT_TRUE(pair.run_until([&] { return pair.a().received.size() >= dies_at; }, 60s));
  pair.set_cut(dies, true);
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == kMessages; }, 120s));
  ASSERT_EQ(pair.a().received.size(), kMessages);
  for (unsigned i = 0; i < kMessages; ++i) {
    EXPECT_EQ(pair.b().sent[i].status, WcStatus::kSuccess) << i;
    EXPECT_EQ(pair.a().received[i].status, WcStatus::kSuccess) << i;
    EXPECT_EQ(pair.a().received[i].wr_id, i);
    EXPECT_EQ(to[i]->bytes, from[i]->bytes) << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, FaultyPortsTest, ::testing::Range<std::uint64_t>(1, 25));

}  // namespace ports_test
}  // namespace splitnic::fabric
