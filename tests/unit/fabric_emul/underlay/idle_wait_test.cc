// The checks before a sleep, and what ends it. No test sleeps: where one might, a descriptor is
// ready.
#include "fabric_emul/underlay/idle_wait.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <string>

#include "base/unique_fd.h"

namespace splitnic::fabric::idle_wait_test {

using namespace std::chrono_literals;

class Carrier final : public Underlay {
 public:
  SendStatus send(const PeerAddress& /*to*/, base::Bytes /*bytes*/,
                  std::size_t /*stride*/) override {
    return SendStatus::kBlocked;
  }
  std::optional<Received> receive() override { return std::nullopt; }
  bool may_sleep() override {
    ++asked;
    return is_quiet;
  }
  std::size_t datagram_bytes_max(const PeerAddress& /*to*/) const override { return 1472; }
  std::size_t receive_buffer_bytes() const override { return 1 << 20; }
  bool came_in_on_this_cpu() const override { return is_on_this_cpu; }
  int fd() const override { return event.get(); }
  std::string name_of(const PeerAddress& /*peer*/) const override { return "carrier"; }

  base::UniqueFd event{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  bool is_quiet = true;
  bool is_on_this_cpu = false;
  int asked = 0;
};

class IdleWaitTest : public ::testing::Test {
 protected:
  // A descriptor is ready, so that a sleep ends at once. Returns true if it was a sleep: otherwise
  // the poller reports the descriptor that is read without a poll.
  bool sleeps(IdleWait& waiting, const IdleWait::Iteration& last) {
    const std::size_t tried = waiting.poller().add(tried_fd_.get(), true);
    const std::size_t ready = waiting.poller().add(ready_fd_.get());
    waiting.wait(now_, last);
    EXPECT_NE(waiting.poller().readable(tried), waiting.poller().readable(ready));
    return waiting.poller().readable(ready);
  }
  IdleWait both(bool never_sleeps = false) {
    IdleWait waiting(never_sleeps);
    waiting.add(first_);
    waiting.add(second_);
    return waiting;
  }

  base::UniqueFd tried_fd_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  base::UniqueFd ready_fd_{::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)};
  Carrier first_, second_;
  base::Time now_{1s};
  const IdleWait::Iteration idle_{.made_progress = false, .deadline = base::kNever};
};

TEST_F(IdleWaitTest, it_sleeps_when_every_underlay_permits_it) {
  IdleWait waiting = both();
  EXPECT_TRUE(sleeps(waiting, idle_));
  EXPECT_EQ(first_.asked + second_.asked, 2);
}

TEST_F(IdleWaitTest, one_underlay_that_does_not_permit_it_makes_the_next_iteration_follow) {
  IdleWait waiting = both();
  second_.is_quiet = false;
  EXPECT_FALSE(sleeps(waiting, idle_));
}

TEST_F(IdleWaitTest, it_spins_behind_progress_but_not_on_the_processor_of_the_peer) {
  IdleWait spins = both();
  EXPECT_FALSE(sleeps(spins, {.made_progress = true, .deadline = base::kNever}));
  EXPECT_FALSE(sleeps(spins, idle_)) << "it spins right behind progress";
  second_.is_on_this_cpu = true;
  EXPECT_TRUE(sleeps(spins, idle_));
  IdleWait awake = both(true);
  EXPECT_FALSE(sleeps(awake, {.made_progress = true, .deadline = base::kNever}));
  EXPECT_FALSE(sleeps(awake, idle_)) << "a busy-polling thread never sleeps";
}

TEST_F(IdleWaitTest, an_iteration_without_sleep_asks_no_underlay) {
  IdleWait worked = both();
  EXPECT_FALSE(sleeps(worked, {.made_progress = true, .deadline = base::kNever}));
  IdleWait due = both();
  EXPECT_FALSE(sleeps(due, {.made_progress = false, .deadline = now_}));
  IdleWait awake = both(true);
  EXPECT_FALSE(sleeps(awake, idle_));
  IdleWait spins = both();
  spins.wait(now_, {.made_progress = true});
  now_ += base::IdleStrategy::kSpin - 1us;
  EXPECT_FALSE(sleeps(spins, idle_));
  EXPECT_EQ(first_.asked + second_.asked, 0);
}

TEST_F(IdleWaitTest, at_high_throughput_it_does_not_spin) {
  IdleWait waiting = both();
  waiting.wait(now_, {.made_progress = true});
  now_ += 1us;
  EXPECT_TRUE(sleeps(
      waiting, {.made_progress = false, .bytes_processed = 1 << 20, .deadline = base::kNever}));
}

// A switch leaves the input of a port where it is while it waits for an output.
TEST_F(IdleWaitTest, S000_45_an_underlay_that_is_not_read_ends_no_wait) {
  IdleWait waiting = both();
  ASSERT_EQ(::eventfd_write(second_.event.get(), 1), 0);
  second_.is_quiet = false;
  waiting.set_read(1, false);
  EXPECT_TRUE(sleeps(waiting, idle_));
  EXPECT_EQ(second_.asked, 0);
  EXPECT_FALSE(waiting.has_room());
  waiting.set_read(1, true);
  EXPECT_FALSE(sleeps(waiting, idle_));
  EXPECT_EQ(second_.asked, 1);
}

TEST_F(IdleWaitTest, room_is_reported_as_output_if_wanted_and_as_input) {
  IdleWait waiting = both();
  IdleWait::Iteration blocked = idle_;
  blocked.wants_write = true;
  waiting.wait(now_, blocked);
  EXPECT_TRUE(waiting.has_room()) << "an eventfd takes output";
  EXPECT_TRUE(sleeps(waiting, idle_));
  EXPECT_FALSE(waiting.has_room());
  ASSERT_EQ(::eventfd_write(second_.event.get(), 1), 0);
  waiting.wait(now_, idle_);
  EXPECT_TRUE(waiting.has_room());
}

}  // namespace splitnic::fabric::idle_wait_test
