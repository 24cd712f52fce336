// Raw between two subnets: the queue pairs of two end nodes exchange whole IPv6 datagrams through a
// router, by their network addresses.
#include <gtest/gtest.h>

#include "tests/services/routed_node.h"

namespace splitnic::fabric::testing::raw_router_test {

using namespace routed_node;

struct RawOverRouter : ::testing::Test, RouterWorld {
  RawOverRouter()
      : h(hub.add_endpoint(), carriers[1]->address(), 0xE1, clock),
        u(hub.add_endpoint(), carriers[2]->address(), 0xE0, clock) {
    h.port->connect(h.attachment.peer("office"), clock.now());
    run(2s);
  }
  void run(base::Duration time) {
    for (const base::Time end = clock.now() + time; clock.now() < end; clock.advance(10ms)) {
      for (bool made_progress = true; made_progress;) {
        made_progress = step();
        made_progress |= h.poll();
        made_progress |= u.poll();
      }
    }
  }
  // The datagram of `from` has arrived at this queue pair, with one hop less.
  void expect_at(const RoutedNode& to, Qpn qpn, const RoutedNode& from) {
    ASSERT_EQ(to.received.size(), 1U);
    EXPECT_EQ(to.received[0].qpn, qpn);
    EXPECT_EQ(to.received[0].source_lid, to.link->remote_lid());
    ASSERT_EQ(to.received[0].bytes, from.sent->bytes.size());
    std::vector<std::byte> expected = from.sent->bytes;
    expected[7] = std::byte{32};  // hop limit
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.rooms.at(qpn)->bytes.begin()));
  }
  RoutedNode h, u;
};

TEST_F(RawOverRouter, S000_33_S000_48_datagrams_of_queue_pairs_cross_a_router_both_ways) {
  ASSERT_TRUE(h.link != nullptr && h.link->up() && u.link != nullptr && u.link->up());
  const Qpn udp_of_h = h.make(kUdp), udp_of_u = u.make(kUdp), tcp_of_u = u.make(kTcp);
  ASSERT_TRUE(h.send(udp_of_h, kH, kU, kTcp));
  run(10ms);
  expect_at(u, tcp_of_u, h);
  u.received.clear();
  ASSERT_TRUE(h.send(udp_of_h, kH, kU, kUdp));
  run(10ms);
  expect_at(u, udp_of_u, h);
  ASSERT_TRUE(u.send(udp_of_u, kU, kH, kUdp));
  run(10ms);
  expect_at(h, udp_of_h, u);
  EXPECT_TRUE(is_balanced());
}

TEST_F(RawOverRouter, S000_33_S000_48_a_datagram_in_the_name_of_another_node_ends_at_the_router) {
  ASSERT_TRUE(h.link != nullptr && u.link != nullptr);
  const Qpn from = h.make(kUdp);
  u.make(kUdp);
  ASSERT_TRUE(h.send(from, address(0xA, Lid(12)), kU, kUdp));
  run(10ms);
  EXPECT_TRUE(u.received.empty());
  EXPECT_EQ(count(RouterCounter::kDropSource), 1U);
  ASSERT_TRUE(h.send(from, kH, kU, kUdp));
  run(10ms);
  EXPECT_EQ(u.received.size(), 1U);
}

}  // namespace splitnic::fabric::testing::raw_router_test
