#include "fabric_emul/stream/read_queue.h"

#include <gtest/gtest.h>

namespace splitnic::fabric {
namespace read_queue_test {

void push(ReadQueue& queue, std::uint32_t msn) {
  ASSERT_EQ(queue.check(msn), ReadAdmission::kTaken);
  queue.push({.msn = msn, .psn = Psn(msn)});
}

TEST(ReadQueue, S002_21_numbers_follow_each_other_from_one) {
  ReadQueue queue(4);
  EXPECT_EQ(queue.check(0), ReadAdmission::kNotNext);
  EXPECT_EQ(queue.check(2), ReadAdmission::kNotNext);
  push(queue, 1);
  EXPECT_EQ(queue.check(1), ReadAdmission::kNotNext);
  push(queue, 2);
}

TEST(ReadQueue, S002_21_the_depth_is_what_fits) {
  for (const std::uint32_t depth : {1U, 2U, 3U, 5U, 8U}) {
    ReadQueue queue(depth);
    for (std::uint32_t msn = 1; msn <= depth; ++msn) push(queue, msn);
    EXPECT_EQ(queue.check(depth + 1), ReadAdmission::kFull) << depth;
    EXPECT_EQ(queue.oldest_open()->msn, 1U);
    queue.close_oldest(StreamNumber(77));
    EXPECT_EQ(queue.arrived()->end, StreamNumber(77));
    push(queue, depth + 1);
    EXPECT_EQ(queue.check(depth + 2), ReadAdmission::kFull) << depth;
  }
}

TEST(ReadQueue, S002_21_without_places_nothing_is_taken) {
  ReadQueue queue(0);
  EXPECT_EQ(queue.check(1), ReadAdmission::kFull);
  EXPECT_EQ(queue.arrived(), nullptr);
}

// A place keeps its content until another request takes it.
TEST(ReadQueue, a_response_that_was_sent_can_be_made_again) {
  ReadQueue queue(2);
  push(queue, 1);
  EXPECT_EQ(queue.arrived(), nullptr);
  queue.close_oldest(StreamNumber(10));
  push(queue, 2);
  EXPECT_EQ(queue.at(1).psn, Psn(1));
  EXPECT_EQ(queue.oldest_open()->msn, 2U);
  EXPECT_EQ(queue.arrived()->msn, 1U);
  push(queue, 3);
  EXPECT_EQ(queue.at(3).psn, Psn(3));
}

// Its end is a number of 32 bits, which names another byte once the stream is 4 GiB ahead.
TEST(ReadQueue, S002_21_an_acknowledged_response_is_not_implied_to_arrive_once_more) {
  ReadQueue queue(1);
  push(queue, 1);
  queue.close_oldest(StreamNumber(10));
  ASSERT_NE(queue.arrived(), nullptr);
  queue.acknowledge(1);
  EXPECT_EQ(queue.arrived(), nullptr);
  push(queue, 2);
  queue.close_oldest(StreamNumber(20));
  ASSERT_NE(queue.arrived(), nullptr) << "its place was that of an acknowledged one";
  EXPECT_EQ(queue.arrived()->end, StreamNumber(20));
}

}  // namespace read_queue_test
}  // namespace splitnic::fabric
