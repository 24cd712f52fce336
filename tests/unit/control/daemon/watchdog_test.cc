// The service manager hears that the program is alive only while each of its data threads is.
#include "control/daemon/heartbeats.h"
#include "tests/unit/control/daemon/daemon_fixture.h"

namespace splitnic::control {
namespace daemon_test {

TEST(HeartbeatsTest, the_last_of_all_threads_completes_a_round) {
  Heartbeats three(3);
  EXPECT_FALSE(three.beat(0));
  EXPECT_FALSE(three.beat(0)) << "twice is not two";
  EXPECT_FALSE(three.beat(2));
  EXPECT_TRUE(three.beat(1));
  EXPECT_FALSE(three.beat(1)) << "the next round";
  EXPECT_FALSE(three.beat(2));
  EXPECT_TRUE(three.beat(0));
  Heartbeats one(1);
  EXPECT_TRUE(one.beat(0));
  EXPECT_TRUE(one.beat(0));
  Heartbeats most(Heartbeats::kThreadsMax);
  for (std::uint32_t i = 1; i < Heartbeats::kThreadsMax; ++i) EXPECT_FALSE(most.beat(i));
  EXPECT_TRUE(most.beat(0));
}

TEST_F(DaemonTest, L_14_a_thread_of_any_queue_that_hangs_is_noticed) {
  TestManager manager(folder_.path("notify"));
  ASSERT_EQ(::setenv("WATCHDOG_USEC", "20000", 1), 0);
  ASSERT_EQ(::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1), 0);
  start();
  EXPECT_EQ(manager.heard(), "READY=1");
  stats();
  const auto becomes_alive = [&manager] {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (manager.alive() == 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    return std::chrono::steady_clock::now() < until;
  };
  for (const std::size_t queue : {0U, 1U, 2U}) {
    EXPECT_TRUE(becomes_alive());
    TestWorker& worker = daemon_->worker(queue);
    worker.is_hanging = false;
    worker.hangs = true;
    while (!worker.is_hanging) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(100ms);  // the others may complete a round that it is part of
    manager.alive();
    std::this_thread::sleep_for(300ms);
    // One of a round that had begun before may be late; a thread that nobody watches gives more.
    EXPECT_LE(manager.alive(), 1) << "queue " << queue;
    worker.hangs = false;
  }
  EXPECT_TRUE(becomes_alive());
  EXPECT_EQ(stop(), 0);
  ASSERT_EQ(::unsetenv("WATCHDOG_USEC"), 0);
  ASSERT_EQ(::unsetenv("WATCHDOG_PID"), 0);
}

}  // namespace daemon_test
}  // namespace splitnic::control
