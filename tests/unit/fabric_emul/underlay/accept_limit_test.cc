// Connections per time to a listener over shared memory: per user, and of all users.
#include "fabric_emul/underlay/accept_limit.h"

#include "shm_world.h"

namespace splitnic::fabric::accept_limit_test {

using namespace shm_world;
using namespace std::chrono_literals;

constexpr std::uint64_t kBurst = AcceptLimit::kBurstMin;

std::uint64_t served_of(AcceptLimit& limit, std::uint32_t user, std::uint64_t attempts) {
  std::uint64_t served = 0;
  for (std::uint64_t i = 0; i < attempts; ++i) served += limit.take(user) ? 1 : 0;
  return served;
}

TEST(AcceptLimitTest, M_8_a_user_has_a_burst_and_then_a_rate) {
  base::ManualClock clock;
  AcceptLimit limit(&clock, 4);
  EXPECT_EQ(served_of(limit, 7, 1000), kBurst);
  clock.advance(1s);
  EXPECT_EQ(served_of(limit, 7, 1000), AcceptLimit::kPerSecondOfUser);
  EXPECT_EQ(served_of(limit, 8, 10), 10U) << "another user waits for nobody";
}

TEST(AcceptLimitTest, M_8_all_users_together_have_a_limit) {
  base::ManualClock clock;
  AcceptLimit limit(&clock, 4);
  std::uint64_t served = 0;
  for (std::uint32_t user = 0; user < 10; ++user) served += served_of(limit, user, kBurst);
  EXPECT_EQ(served, 2 * kBurst);
  clock.advance(1s);
  served = 0;
  for (std::uint32_t user = 0; user < 10; ++user) served += served_of(limit, user, kBurst);
  EXPECT_EQ(served, 2 * kBurst) << "as many as the burst have flowed back";
}

TEST(AcceptLimitTest, many_clients_have_a_burst_of_twice_their_number) {
  base::ManualClock clock;
  AcceptLimit limit(&clock, 1000);
  EXPECT_EQ(served_of(limit, 7, 5000), 2000U);
}

TEST(AcceptLimitTest, a_user_is_forgotten_once_all_has_flowed_back) {
  base::ManualClock clock;
  AcceptLimit limit(&clock, 4);
  for (std::uint32_t user = 0; user < 9; ++user) EXPECT_TRUE(limit.take(user));
  EXPECT_EQ(limit.users(), 9U);
  clock.advance(1s);
  EXPECT_TRUE(limit.take(3));
  EXPECT_EQ(limit.users(), 1U);
}

TEST(AcceptLimitTest, without_a_clock_there_is_no_limit) {
  AcceptLimit limit(nullptr, 4);
  EXPECT_EQ(served_of(limit, 7, 5000), 5000U);
}

class ShmAcceptTest : public ShmTest {
 protected:
  ShmAcceptTest() { clock_ = &time; }
  base::ManualClock time;
};

// A program of a user who may connect connects again and again, and leaves each time.
TEST_F(ShmAcceptTest, M_8_a_flood_of_connections_is_refused_and_one_that_comes_later_is_served) {
  auto listener = open(true);
  for (std::uint64_t i = 0; i < kBurst + 10; ++i) {
    const auto flood = open(false);
    EXPECT_FALSE(look(*listener));
  }
  EXPECT_EQ(listener->count(ShmCounter::kClients), kBurst);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedRate), 10U);
  EXPECT_FALSE(look(*listener));
  EXPECT_EQ(listener->clients(), 0U);
  time.advance(1s);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  EXPECT_EQ(listener->count(ShmCounter::kRefusedRate), 10U);
}

}  // namespace splitnic::fabric::accept_limit_test
