#include "host_module/silence_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace splitnic::host {
namespace silence_watch_test {

using namespace std::chrono_literals;
using Step = SilenceWatch::Step;
using Silence = std::optional<base::Duration>;

// The unit in use is not heard any more, unless a test has it heard; the other one replies to each
// probe after a millisecond.
struct SilenceWatchTest : ::testing::Test {
  Step step() {
    SilenceWatch::Facts facts;
    facts.heard = heard;
    if (has_other) facts.other_heard = other_heard;
    facts.has_traffic = has_traffic;
    const Step next = watch.step(facts, now);
    if (next == Step::kProbeBoth) {
      ++others_probed;
      if (other_replies) other_heard = now + 1ms;
    }
    return next;
  }
  // The host comes `late` to each deadline. Returns how long the unit in use was not heard when it
  // is left; none: it is not within two seconds.
  Silence silence(base::Duration late = 0ms) {
    for (const base::Time end = now + 2s; now < end;) {
      if (step() == Step::kSilent) return now - heard;
      if (watch.deadline() == base::kNever) return std::nullopt;
      now = std::max(now, watch.deadline() + late);
    }
    return std::nullopt;
  }
  void hear() { heard = now; }
  // The unit in use is heard this long after its first probe. Returns false if it is left before.
  bool stays_until(base::Duration reply_time) {
    const base::Time replied = watch.deadline() + reply_time;
    while (watch.deadline() < replied) {
      now = watch.deadline();
      if (step() == Step::kSilent) return false;
    }
    now = replied;
    hear();
    return step() == Step::kNone;
  }

  base::Time now{1000s};
  base::Time heard = now;
  base::Time other_heard = now;
  bool has_other = true;
  bool other_replies = true;
  bool has_traffic = true;
  int others_probed = 0;
  SilenceWatch watch;
};

TEST_F(SilenceWatchTest, S000_47_a_silent_path_is_left_after_140_ms) {
  EXPECT_EQ(silence(), Silence(140ms));
  EXPECT_EQ(others_probed, 3);
  EXPECT_EQ(watch.deadline(), base::kNever);
}

TEST_F(SilenceWatchTest, S000_47_traffic_that_begins_on_a_silent_path_waits_for_100_ms) {
  has_traffic = false;
  EXPECT_EQ(step(), Step::kNone);
  now += 150ms;
  has_traffic = true;
  EXPECT_EQ(silence(), Silence(250ms));
}

TEST_F(SilenceWatchTest, nothing_is_probed_without_traffic) {
  has_traffic = false;
  now += 10s;
  EXPECT_EQ(step(), Step::kNone);
  EXPECT_EQ(watch.deadline(), base::kNever);
}

TEST_F(SilenceWatchTest, nothing_is_probed_where_no_other_unit_could_take_over) {
  has_other = false;
  now += 10s;
  EXPECT_EQ(step(), Step::kNone);
  EXPECT_EQ(watch.deadline(), base::kNever);
}

TEST_F(SilenceWatchTest, what_has_begun_is_concluded_without_traffic) {
  now += 40ms;
  ASSERT_EQ(step(), Step::kProbe);
  has_traffic = false;
  EXPECT_EQ(silence(), Silence(140ms));
}

TEST_F(SilenceWatchTest, the_other_unit_is_left_alone_while_the_one_in_use_replies) {
  for (int i = 0; i < 20; ++i) {
    now += 40ms;
    ASSERT_EQ(step(), Step::kProbe);
    now += 1ms;
    hear();
    ASSERT_EQ(step(), Step::kNone);
    ASSERT_EQ(watch.deadline(), heard + SilenceWatch::kQuietMax);
  }
  EXPECT_EQ(others_probed, 0);
}

// The unit at the end of both paths waits for a processor, or this host has no network.
TEST_F(SilenceWatchTest, S000_47_silence_of_both_decides_nothing) {
  other_replies = false;
  EXPECT_EQ(silence(), Silence());
  EXPECT_GT(others_probed, 50);
}

TEST_F(SilenceWatchTest, a_unit_that_is_heard_at_last_stays) {
  EXPECT_EQ(step(), Step::kNone);
  while (now < heard + 115ms) {
    now = watch.deadline();
    ASSERT_NE(step(), Step::kSilent);
  }
  now += 1ms;
  hear();
  EXPECT_EQ(step(), Step::kNone);
  EXPECT_EQ(watch.deadline(), heard + SilenceWatch::kQuietMax);
}

// Both ends get a processor after 100 ms each time.
TEST_F(SilenceWatchTest, S000_47_a_host_that_is_always_late_decides_nothing) {
  EXPECT_EQ(silence(100ms), Silence());
}

TEST_F(SilenceWatchTest, a_host_that_was_late_once_counts_from_there) {
  EXPECT_EQ(step(), Step::kNone);
  for (int i = 0; i < 4; ++i) {
    now = watch.deadline();
    ASSERT_NE(step(), Step::kSilent);
  }
  now = watch.deadline() + 50ms;  // the third round would have shown it
  ASSERT_EQ(step(), Step::kProbeBoth);
  EXPECT_EQ(silence(), Silence(140ms + 50ms + 75ms));
}

TEST_F(SilenceWatchTest, S000_47_each_pause_doubles_the_time_until_ten_minutes_are_calm) {
  for (const base::Duration wanted : {140ms, 215ms, 365ms, 665ms, 665ms}) {
    hear();
    ASSERT_EQ(silence(), Silence(wanted));
    EXPECT_TRUE(watch.on_return(now, now + 100ms));
    now += 100ms;
  }
  now += SilenceWatch::kCalmAfter;
  hear();
  EXPECT_EQ(silence(), Silence(140ms));
}

TEST_F(SilenceWatchTest, a_unit_that_is_back_later_had_failed) {
  ASSERT_EQ(silence(), Silence(140ms));
  EXPECT_FALSE(watch.on_return(now, now + SilenceWatch::kPauseMax + 1ms));
  now += 1s;
  hear();
  EXPECT_EQ(silence(), Silence(140ms));
}

// As by a path of a satellite, next to a short one.
TEST_F(SilenceWatchTest, S000_47_a_unit_that_is_slow_to_reply_gets_twice_that_time) {
  other_replies = false;
  EXPECT_EQ(step(), Step::kNone);
  now = watch.deadline();
  const base::Time probed = now;
  while (now < probed + 200ms) {
    ASSERT_NE(step(), Step::kSilent);
    now = watch.deadline();
  }
  now = probed + 200ms;
  hear();
  other_replies = true;
  EXPECT_EQ(silence(), Silence(40ms + 25ms + 17 * 25ms));
  now += 2 * SilenceWatch::kReplyPeriod;
  hear();
  EXPECT_EQ(silence(), Silence(140ms)) << "a path may have become faster";
}

// Each reply takes less time than the first one, so none of them is the longest.
TEST_F(SilenceWatchTest, S000_47_a_unit_that_stays_slow_is_not_left_after_a_minute) {
  other_replies = false;
  EXPECT_EQ(step(), Step::kNone);
  ASSERT_TRUE(stays_until(200ms));
  other_replies = true;
  for (const base::Time end = now + 3 * SilenceWatch::kReplyPeriod; now < end;) {
    now += 800ms;
    hear();
    ASSERT_EQ(step(), Step::kNone);
    ASSERT_TRUE(stays_until(190ms));
  }
}

// --failback is 60 s if it is not given. A path that pauses once more then is not left once more.
TEST_F(SilenceWatchTest, S000_47_a_pause_is_remembered_when_the_host_is_back_on_the_path) {
  ASSERT_EQ(silence(), Silence(140ms));
  ASSERT_TRUE(watch.on_return(now, now + 100ms));
  now += 100ms + 60s;
  hear();
  ASSERT_EQ(step(), Step::kNone);  // over the other path
  watch.restart();
  hear();
  EXPECT_EQ(silence(), Silence(215ms));
}

TEST_F(SilenceWatchTest, another_unit_in_use_is_watched_from_the_beginning) {
  EXPECT_EQ(step(), Step::kNone);
  while (now < heard + 115ms) {
    now = watch.deadline();
    ASSERT_NE(step(), Step::kSilent);
  }
  watch.restart();
  hear();
  EXPECT_EQ(silence(), Silence(140ms));
}

}  // namespace silence_watch_test
}  // namespace splitnic::host
