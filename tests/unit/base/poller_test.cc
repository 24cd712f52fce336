#include "base/poller.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/unique_fd.h"

namespace splitnic::base {
namespace poller_test {

using namespace std::chrono_literals;
using Step = IdleStrategy::Step;

class PollerTest : public ::testing::Test {
 protected:
  UniqueFd tried_fd_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  UniqueFd asked_fd_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  Poller poller_;
  std::size_t tried_ = poller_.add(tried_fd_.get(), true);
  std::size_t asked_ = poller_.add(asked_fd_.get());
  SystemClock clock_;
};

TEST_F(PollerTest, a_sleep_tells_what_is_ready_and_ends_with_it) {
  ASSERT_EQ(::eventfd_write(asked_fd_.get(), 1), 0);
  const Time now = clock_.now();
  poller_.wait(now, now + 1h, Step::kSleep);
  EXPECT_TRUE(poller_.readable(asked_));
  EXPECT_FALSE(poller_.readable(tried_));
}

TEST_F(PollerTest, what_is_tried_counts_as_readable_where_nobody_sleeps) {
  for (const Step step : {Step::kWork, Step::kSpin, Step::kYield}) {
    poller_.wait({}, {}, step);
    EXPECT_TRUE(poller_.readable(tried_));
    EXPECT_FALSE(poller_.readable(asked_));
  }
  poller_.want(tried_, false, false);
  poller_.wait({}, {}, Step::kSpin);
  EXPECT_FALSE(poller_.readable(tried_));
}

TEST_F(PollerTest, the_others_are_asked_every_so_often_without_sleep) {
  ASSERT_EQ(::eventfd_write(asked_fd_.get(), 1), 0);
  int turns = 1;
  for (; turns < 100; ++turns) {
    poller_.wait({}, kNever, Step::kSpin);
    if (poller_.readable(asked_)) break;
  }
  EXPECT_EQ(turns, 16);
}

TEST_F(PollerTest, who_wants_to_write_is_asked_for_each_turn) {
  poller_.want(tried_, true, true);
  poller_.wait({}, kNever, Step::kWork);
  EXPECT_TRUE(poller_.writable(tried_));
  EXPECT_FALSE(poller_.readable(tried_));
}

}  // namespace poller_test
}  // namespace splitnic::base
