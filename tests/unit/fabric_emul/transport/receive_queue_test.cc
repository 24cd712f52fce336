#include "fabric_emul/transport/receive_queue.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace splitnic::fabric::receive_queue_test {

base::Status post(ReceiveQueue& queue, std::uint64_t wr_id) {
  return queue.post(RecvWr{.wr_id = wr_id, .scatter = {}});
}

TEST(ReceiveQueueTest, S000_12_a_receive_that_is_claimed_keeps_its_place) {
  ReceiveQueue queue(2);
  ASSERT_TRUE(post(queue, 1));
  ASSERT_TRUE(post(queue, 2));
  const RecvWqe claimed = queue.claim();
  EXPECT_EQ(claimed.wr_id, 1U);
  EXPECT_EQ(queue.credits(), 1U);
  const base::Status full = post(queue, 3);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().errno_value(), ENOMEM);
  queue.abort(claimed);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.front().wr_id, 1U) << "the oldest once more";
}

TEST(ReceiveQueueTest, S000_12_a_receive_that_is_complete_makes_room) {
  ReceiveQueue queue(2);
  ASSERT_TRUE(post(queue, 1));
  ASSERT_TRUE(post(queue, 2));
  EXPECT_EQ(queue.claim().wr_id, 1U);
  queue.commit();
  ASSERT_TRUE(post(queue, 3));
  EXPECT_EQ(queue.front().wr_id, 2U);
  queue.pop();
  EXPECT_EQ(queue.front().wr_id, 3U);
  EXPECT_EQ(queue.size(), 1U);
}

}  // namespace splitnic::fabric::receive_queue_test
