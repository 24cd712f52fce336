#include "iou_module/hosts/deficit_round_robin.h"

#include <gtest/gtest.h>

#include <vector>

namespace splitnic::iou::deficit_round_robin_test {

using Deficit = DeficitRoundRobin::Deficit;

// A queue of packets of one length that never becomes empty.
struct Queue {
  std::size_t packet_bytes;
  std::size_t sent_bytes = 0;
  Deficit deficit{};
};

void visit(DeficitRoundRobin& scheduler, std::vector<Queue>& queues) {
  Queue& queue = queues[scheduler.current(queues.size())];
  std::size_t left = scheduler.begin(queue.deficit, true);
  for (; queue.packet_bytes <= left; left -= queue.packet_bytes) {
    queue.sent_bytes += queue.packet_bytes;
  }
  scheduler.end(queue.deficit, left, true);
  scheduler.advance();
}

TEST(DeficitRoundRobinTest, queues_share_by_bytes_whatever_the_length_of_their_packets) {
  DeficitRoundRobin scheduler(1000);
  std::vector<Queue> queues{{60}, {700}, {1000}, {2500}};
  for (int i = 0; i < 4 * 100; ++i) visit(scheduler, queues);
  for (const Queue& queue : queues) {
    EXPECT_LE(queue.sent_bytes, 100'000U) << queue.packet_bytes;
    EXPECT_GT(queue.sent_bytes + queue.packet_bytes, 100'000U) << queue.packet_bytes;
  }
}

TEST(DeficitRoundRobinTest, a_packet_longer_than_the_quantum_waits_for_its_deficit) {
  DeficitRoundRobin scheduler(1000);
  std::vector<Queue> queues{{2500}};
  visit(scheduler, queues);
  visit(scheduler, queues);
  EXPECT_EQ(queues[0].sent_bytes, 0U);
  EXPECT_EQ(queues[0].deficit.bytes(), 2000U);
  visit(scheduler, queues);
  EXPECT_EQ(queues[0].sent_bytes, 2500U);
  EXPECT_EQ(queues[0].deficit.bytes(), 500U);
}

TEST(DeficitRoundRobinTest, an_open_visit_continues_without_another_quantum) {
  DeficitRoundRobin scheduler(1000);
  Deficit deficit;
  EXPECT_EQ(scheduler.current(2), 0U);
  EXPECT_EQ(scheduler.begin(deficit, true), 1000U);
  scheduler.end(deficit, 400, true);  // the output is blocked
  EXPECT_EQ(scheduler.current(2), 0U);
  EXPECT_EQ(scheduler.begin(deficit, true), 400U);
  scheduler.end(deficit, 0, true);
  scheduler.advance();
  EXPECT_EQ(scheduler.current(2), 1U);
  scheduler.advance();
  EXPECT_EQ(scheduler.current(2), 0U);
  EXPECT_EQ(scheduler.begin(deficit, true), 1000U);
}

TEST(DeficitRoundRobinTest, an_empty_queue_saves_nothing) {
  DeficitRoundRobin scheduler(1000);
  Deficit deficit;
  scheduler.begin(deficit, true);
  scheduler.end(deficit, 900, true);
  DeficitRoundRobin::on_empty(deficit);
  scheduler.advance();
  EXPECT_EQ(scheduler.begin(deficit, true), 1000U);
}

TEST(DeficitRoundRobinTest, a_queue_alone_has_no_bound_and_keeps_nothing) {
  DeficitRoundRobin scheduler(1000);
  Deficit deficit;
  EXPECT_EQ(scheduler.begin(deficit, false), DeficitRoundRobin::kUnlimited);
  scheduler.end(deficit, DeficitRoundRobin::kUnlimited - 5000, false);
  EXPECT_EQ(deficit.bytes(), 0U);
  EXPECT_EQ(scheduler.begin(deficit, true), 1000U) << "another queue has come: a new visit";
}

TEST(DeficitRoundRobinTest, queues_may_come_and_go) {
  DeficitRoundRobin scheduler(1000);
  EXPECT_EQ(scheduler.current(3), 0U);
  scheduler.advance();
  scheduler.advance();
  EXPECT_EQ(scheduler.current(3), 2U);
  EXPECT_EQ(scheduler.current(2), 0U);
  scheduler.advance();
  EXPECT_EQ(scheduler.current(5), 1U);
}

}  // namespace splitnic::iou::deficit_round_robin_test
