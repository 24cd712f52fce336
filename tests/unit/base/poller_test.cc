#include "base/poller.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace splitnic::base {
namespace poller_test {

using namespace std::chrono_literals;
using Step = IdleStrategy::Step;

class PollerTest : public ::testing::Test {
 protected:
  UniqueFd unpolled_fd_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  UniqueFd polled_fd_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  Poller poller_;
  std::size_t unpolled_ = poller_.add(unpolled_fd_.get(), true);
  std::size_t polled_ = poller_.add(polled_fd_.get());
  SystemClock clock_;
};

TEST_F(PollerTest, a_sleep_ends_with_a_ready_descriptor) {
  ASSERT_EQ(::eventfd_write(polled_fd_.get(), 1), 0);
  const Time now = clock_.now();
  poller_.wait(now, now + 1h, Step::kSleep);
  EXPECT_TRUE(poller_.readable(polled_));
  EXPECT_FALSE(poller_.readable(unpolled_));
}

// Also one with an error, which a poll reports whatever is asked for.
TEST_F(PollerTest, what_is_not_watched_ends_no_sleep) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd write_end(ends[1]);
  const std::size_t broken = poller_.add(write_end.get());
  UniqueFd(ends[0]).reset();
  ASSERT_EQ(::eventfd_write(polled_fd_.get(), 1), 0);
  poller_.watch(broken, false);
  poller_.watch(polled_, false);
  const Time begin = clock_.now();
  poller_.wait(begin, begin + 2ms, Step::kSleep);
  EXPECT_GE(clock_.now() - begin, 2ms);
  EXPECT_FALSE(poller_.readable(polled_) || poller_.readable(broken));
  poller_.watch(polled_, true);
  poller_.wait(begin, begin + 1h, Step::kSleep);
  EXPECT_TRUE(poller_.readable(polled_));
}

TEST_F(PollerTest, what_is_unpolled_counts_as_readable_where_nobody_sleeps) {
  for (const Step step : {Step::kWork, Step::kSpin, Step::kYield}) {
    poller_.wait({}, {}, step);
    EXPECT_TRUE(poller_.readable(unpolled_));
    EXPECT_FALSE(poller_.readable(polled_));
  }
  poller_.want(unpolled_, false, false);
  poller_.wait({}, {}, Step::kSpin);
  EXPECT_FALSE(poller_.readable(unpolled_));
}

TEST_F(PollerTest, the_others_are_polled_every_so_often_without_sleep) {
  ASSERT_EQ(::eventfd_write(polled_fd_.get(), 1), 0);
  int iterations = 1;
  for (; iterations < 100; ++iterations) {
    poller_.wait({}, kNever, Step::kSpin);
    if (poller_.readable(polled_)) break;
  }
  EXPECT_EQ(iterations, 16);
}

TEST_F(PollerTest, wanted_output_is_polled_in_each_iteration) {
  poller_.want(unpolled_, true, true);
  poller_.wait({}, kNever, Step::kWork);
  EXPECT_TRUE(poller_.writable(unpolled_));
  EXPECT_FALSE(poller_.readable(unpolled_));
}

}  // namespace poller_test
}  // namespace splitnic::base
