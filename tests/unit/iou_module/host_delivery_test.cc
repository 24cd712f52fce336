#include "iou_module/hosts/host_delivery.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/unit/iou_module/frame_maker.h"

namespace splitnic::iou::host_delivery_test {

using namespace std::chrono_literals;
using harness::Frame;
using harness::frame_of;
using harness::kPeer;
using harness::mac_number;

constexpr base::Time kStart{10s};

// Takes `room` frames.
struct Connection {
  std::size_t queues() const { return queue_count; }
  std::size_t take_completed() { return std::exchange(completed, 0); }
  bool push(base::Bytes frame, std::uint32_t flow, base::Time) {
    if (room == 0) return false;
    --room;
    pushed.emplace_back(frame.begin(), frame.end());
    flows.push_back(flow);
    return true;
  }
  bool push_on(std::size_t queue, base::Bytes frame, base::Time now) {
    queue_of_frame.push_back(queue);
    return push(frame, 0, now);
  }

  std::size_t queue_count = 1;
  std::size_t room = 100;
  std::size_t completed = 0;
  std::vector<Frame> pushed;
  std::vector<std::uint32_t> flows;
  std::vector<std::size_t> queue_of_frame;
};

struct HostDeliveryTest : ::testing::Test {
  HostDeliveryTest() { EXPECT_TRUE(queue.allocate(std::size_t{1} << 18)); }
  void add(std::uint32_t number, std::uint16_t vlan = 0) {
    queue.queue_copy(frame_of(mac_number(1), kPeer, number, vlan), 2048);
  }
  bool pump(base::Time now) { return delivery.pump(connection, queue, stats, now); }

  NicSettings nic;
  VlanLimit limit{HostRights{}};
  HostStats stats;
  HostTxQueue queue{nic, limit, stats.counters, 64};
  HostDelivery delivery;
  Connection connection;
};

TEST_F(HostDeliveryTest, pushes_in_order_as_much_as_the_connection_takes) {
  connection.room = 2;
  for (std::uint32_t i = 0; i < 3; ++i) add(i);
  EXPECT_TRUE(pump(kStart));
  EXPECT_EQ(connection.pushed, (std::vector<Frame>{frame_of(mac_number(1), kPeer, 0),
                                                   frame_of(mac_number(1), kPeer, 1)}));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(stats.counters[AttachedHostCounter::kToHostFrames], 2U);
  EXPECT_EQ(stats.counters[AttachedHostCounter::kToHostBytes], 200U);
  EXPECT_EQ(stats.rmon.counters()[RmonCounter::kToHostUnicast], 2U);
  EXPECT_FALSE(pump(kStart)) << "nothing more is taken";
}

TEST_F(HostDeliveryTest, frees_the_memory_of_what_has_been_delivered) {
  add(1);
  add(2);
  EXPECT_TRUE(pump(kStart));
  EXPECT_EQ(queue.ring().frames(), 2U);
  connection.completed = 1;
  EXPECT_TRUE(pump(kStart));
  EXPECT_EQ(queue.ring().frames(), 1U);
  EXPECT_FALSE(pump(kStart));
}

TEST_F(HostDeliveryTest, holds_all_while_another_queue_has_earlier_frames) {
  delivery.hold_until(kStart + 10ms);
  add(1);
  EXPECT_FALSE(pump(kStart));
  EXPECT_EQ(delivery.deadline(), kStart + 10ms);
  connection.completed = 0;
  EXPECT_FALSE(pump(kStart + 10ms - 1ns));
  EXPECT_TRUE(pump(kStart + 10ms));
  EXPECT_EQ(connection.pushed.size(), 1U);
  EXPECT_EQ(delivery.deadline(), base::kNever);
}

TEST_F(HostDeliveryTest, S001_49_frames_that_are_coalesced_wait_and_completions_do_not) {
  nic.coalescing = {.microseconds = 50, .frames = 3};
  delivery.set(nic, {});
  add(1);
  EXPECT_FALSE(pump(kStart));
  EXPECT_EQ(delivery.deadline(), kStart + 50us);
  add(2);
  add(3);
  EXPECT_TRUE(pump(kStart + 1us)) << "enough frames";
  EXPECT_EQ(connection.pushed.size(), 3U);
  EXPECT_FALSE(pump(kStart + 2us));
  add(4);
  connection.completed = 3;
  EXPECT_TRUE(pump(kStart + 3us));
  EXPECT_EQ(queue.ring().frames(), 1U);
  EXPECT_EQ(connection.pushed.size(), 3U) << "the fourth waits";
  EXPECT_TRUE(pump(kStart + 53us));
  EXPECT_EQ(connection.pushed.size(), 4U);
}

TEST_F(HostDeliveryTest, S001_49_a_frame_has_the_queue_of_its_service_level) {
  connection.queue_count = 3;
  nic.qos.priorities[6] = 4;
  nic.qos.priorities[1] = 2;
  delivery.set(nic, {2, 4});
  add(1, 6 << 13 | 5);
  add(2, 1 << 13 | 5);
  add(3, 3 << 13 | 5);
  add(4);
  EXPECT_TRUE(pump(kStart));
  EXPECT_EQ(connection.queue_of_frame, (std::vector<std::size_t>{2, 1, 0, 0}));
}

TEST_F(HostDeliveryTest, without_service_levels_a_frame_has_the_queue_of_its_flow) {
  connection.queue_count = 2;
  add(1);
  EXPECT_TRUE(pump(kStart));
  EXPECT_TRUE(connection.queue_of_frame.empty());
  EXPECT_EQ(connection.flows,
            std::vector<std::uint32_t>{lan::flow_of(frame_of(mac_number(1), kPeer, 1))});
}

}  // namespace splitnic::iou::host_delivery_test
