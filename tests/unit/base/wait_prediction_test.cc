#include "base/wait_prediction.h"

#include <gtest/gtest.h>

#include <string_view>

namespace splitnic::base::wait_prediction_test {

// The number of wrong predictions of the last `count` waits of a sequence that repeats; s: short.
int wrong_of_the_last(int count, std::string_view sequence, int waits = 200) {
  WaitPrediction prediction;
  int wrong = 0;
  for (int i = 0; i < waits; ++i) {
    const bool is_short = sequence[static_cast<std::size_t>(i) % sequence.size()] == 's';
    if (i >= waits - count && prediction.is_short() != is_short) ++wrong;
    prediction.learn(is_short);
  }
  return wrong;
}

TEST(WaitPredictionTest, expects_a_short_wait_at_first) {
  EXPECT_TRUE(WaitPrediction().is_short());
}

TEST(WaitPredictionTest, learns_sequences_of_up_to_five_waits) {
  for (const std::string_view sequence : {"s", "l", "sl", "ssl", "sll", "sssl", "slll", "ssssl"}) {
    EXPECT_EQ(wrong_of_the_last(100, sequence), 0) << sequence;
  }
}

TEST(WaitPredictionTest, learns_from_few_waits) {
  EXPECT_LE(wrong_of_the_last(200, "l"), 5);
  EXPECT_LE(wrong_of_the_last(200, "sl"), 5);
}

// One wait that is long does not end the spinning of a link that is always quick.
TEST(WaitPredictionTest, one_exception_is_forgiven) {
  WaitPrediction prediction;
  for (int i = 0; i < 10; ++i) prediction.learn(true);
  prediction.learn(false);
  int wrong = 0;
  for (int i = 0; i < 10; ++i) {
    wrong += prediction.is_short() ? 0 : 1;
    prediction.learn(true);
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace splitnic::base::wait_prediction_test
