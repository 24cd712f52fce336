#include "fabric_emul/transport/send_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "fabric_emul/transport/receive_credits.h"

namespace splitnic::fabric::testing::send_queue_test {

constexpr std::uint16_t kMcp = 1024;

base::Status post(SendQueue<SendWqe>& queue, std::uint64_t wr_id, std::uint32_t bytes,
                  WrOp op = WrOp::kSend) {
  const Sge piece{VirtualAddress(0), bytes, MemoryHandle(1)};
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = op;
  wr.gather = {&piece, 1};
  SendWqe w;
  if (auto prepared = queue.prepare(wr, kMcp, w); !prepared) return prepared;
  queue.push(w);
  return {};
}

TEST(SendQueueTest, numbers_stay_valid_when_earlier_work_requests_leave) {
  SendQueue<SendWqe> queue(3);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(post(queue, 100 + i, 10));
  queue.advance();
  EXPECT_EQ(queue.pop(WcStatus::kSuccess).wr_id, 100U);
  ASSERT_TRUE(post(queue, 103, 10));
  EXPECT_EQ(queue.head_no(), 1U);
  EXPECT_EQ(queue.next_no(), 1U);
  EXPECT_EQ(queue.tail_no(), 4U);
  EXPECT_EQ(queue[3].wr_id, 103U);
  EXPECT_EQ(queue.next().wr_id, 101U);
}

TEST(SendQueueTest, a_work_request_that_leaves_unsent_is_not_sent) {
  SendQueue<SendWqe> queue(2);
  ASSERT_TRUE(post(queue, 1, 10));
  EXPECT_TRUE(queue.has_unsent());
  EXPECT_EQ(queue.pop(WcStatus::kFlushed).status, WcStatus::kFlushed);
  EXPECT_FALSE(queue.has_unsent());
  EXPECT_EQ(queue.next_no(), queue.tail_no());
}

TEST(SendQueueTest, cells_are_counted_and_bounds_are_checked) {
  SendQueue<SendWqe> queue(4);
  ASSERT_TRUE(post(queue, 0, 0));
  ASSERT_TRUE(post(queue, 1, kMcp + 1));
  ASSERT_TRUE(post(queue, 2, 10 * kMcp, WrOp::kRdmaRead));
  EXPECT_EQ(queue[0].cells, 1U);
  EXPECT_EQ(queue[1].cells, 2U);
  EXPECT_EQ(queue[2].cells, 1U) << "a request";
  EXPECT_EQ(post(queue, 3, kMcp * 65536 + 1).error().errno_value(), EMSGSIZE);
  ASSERT_TRUE(post(queue, 3, kMcp * 65536));
  EXPECT_EQ(post(queue, 4, 1).error().errno_value(), ENOMEM);
  SendWr wr;
  const std::vector<Sge> pieces(kSgeMax + 1);
  wr.gather = pieces;
  SendWqe w;
  queue.pop(WcStatus::kSuccess);
  EXPECT_EQ(queue.prepare(wr, kMcp, w).error().errno_value(), EINVAL);
}

TEST(SendQueueTest, a_completion_has_bytes_only_where_a_response_came) {
  SendQueue<SendWqe> queue(3);
  for (const WrOp op : {WrOp::kSend, WrOp::kRdmaRead, WrOp::kRdmaRead}) {
    ASSERT_TRUE(post(queue, 0, 77, op));
  }
  EXPECT_EQ(queue.pop(WcStatus::kSuccess).bytes, 0U);
  EXPECT_EQ(queue.pop(WcStatus::kSuccess).bytes, 77U);
  EXPECT_EQ(queue.pop(WcStatus::kFlushed).bytes, 0U);
}

TEST(ReceiveCreditsTest, X_43_one_packet_may_go_without_a_credit) {
  ReceiveCredits credits;
  SendWqe send;
  SendWqe write;
  write.op = WrOp::kRdmaWrite;
  EXPECT_TRUE(credits.permits(send)) << "none is outstanding";
  credits.claim(send);
  EXPECT_FALSE(credits.permits(send));
  EXPECT_TRUE(credits.permits(write)) << "consumes no receive";
  credits.update(2);
  EXPECT_TRUE(credits.permits(send));
  EXPECT_TRUE(credits.is_last(send));
  credits.claim(send);
  EXPECT_FALSE(credits.permits(send));
  credits.release(write);
  EXPECT_FALSE(credits.permits(send));
  credits.release(send);
  EXPECT_TRUE(credits.permits(send));
}

}  // namespace splitnic::fabric::testing::send_queue_test
