#include "control/command_queue.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <thread>

namespace splitnic::control {
namespace command_queue_test {

bool is_readable(int fd, int timeout_ms = 0) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

TEST(CommandQueueTest, runs_in_order_and_the_fd_shows_when) {
  CommandQueue queue;
  EXPECT_FALSE(is_readable(queue.fd()));
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.post([&ran, i] { ran.push_back(i); }));
  EXPECT_TRUE(is_readable(queue.fd()));
  EXPECT_EQ(queue.run(), 3U);
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(is_readable(queue.fd()));
  EXPECT_EQ(queue.run(), 0U);
}

TEST(CommandQueueTest, full_refuses_and_then_takes_again) {
  CommandQueue queue(2);
  ASSERT_TRUE(queue.post([] {}));
  ASSERT_TRUE(queue.post([] {}));
  EXPECT_FALSE(queue.post([] {}));
  EXPECT_EQ(queue.run(), 2U);
  EXPECT_TRUE(queue.post([] {}));
}

TEST(CommandQueueTest, a_command_may_post_and_it_waits_for_the_next_run) {
  CommandQueue queue;
  bool second = false;
  ASSERT_TRUE(queue.post([&] { ASSERT_TRUE(queue.post([&] { second = true; })); }));
  EXPECT_EQ(queue.run(), 1U);
  EXPECT_FALSE(second);
  EXPECT_TRUE(is_readable(queue.fd()));
  EXPECT_EQ(queue.run(), 1U);
  EXPECT_TRUE(second);
}

TEST(CommandQueueTest, close_destroys_what_waits_and_refuses) {
  CommandQueue queue;
  const auto held = std::make_shared<int>(1);
  ASSERT_TRUE(queue.post([held] { FAIL() << "ran after close"; }));
  EXPECT_EQ(held.use_count(), 2);
  queue.close();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(queue.post([] {}));
  EXPECT_EQ(queue.run(), 0U);
  EXPECT_FALSE(is_readable(queue.fd()));
}

TEST(CommandQueueTest, many_threads_post_and_one_runs_all) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5000;
  CommandQueue queue(64);
  int ran = 0;  // not atomic: only the owner's thread touches it
  std::vector<int> next(kThreads, 0);
  bool is_in_order = true;
  std::vector<std::thread> posters;
  for (int t = 0; t < kThreads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto command = [&, t, i] {
          auto& expected = next[static_cast<std::size_t>(t)];
          is_in_order = is_in_order && expected == i;
          ++expected;
          ++ran;
        };
        while (!queue.post(command)) std::this_thread::yield();
      }
    });
  }
  while (ran < kThreads * kEach) {
    ASSERT_TRUE(is_readable(queue.fd(), 60'000)) << "a wake-up was lost after " << ran;
    queue.run();
  }
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(ran, kThreads * kEach);
  EXPECT_TRUE(is_in_order);
}

}  // namespace command_queue_test
}  // namespace splitnic::control
