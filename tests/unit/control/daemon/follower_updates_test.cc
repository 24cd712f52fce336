// Updates of the queues that follow queue 0.
#include "control/daemon/follower_updates.h"

#include <gtest/gtest.h>

#include <array>

namespace splitnic::control {
namespace follower_updates_test {

using namespace std::chrono_literals;

class FollowerUpdatesTest : public ::testing::Test {
 protected:
  FollowerUpdatesTest() {
    for (Follower& each : followers_) {
      updates_.add([&each] {
        each.posts += each.has_room ? 1 : 0;
        return each.has_room;
      });
    }
  }

  struct Follower {
    bool has_room = true;
    int posts = 0;
  };
  std::array<Follower, 2> followers_;
  FollowerUpdates updates_;
  const base::Time now_{1h};
};

TEST_F(FollowerUpdatesTest, each_follower_gets_a_change_once) {
  updates_.step(now_);
  EXPECT_EQ(followers_[0].posts, 0) << "nothing has changed";
  EXPECT_EQ(updates_.deadline(), base::kNever);
  updates_.request(now_);
  EXPECT_EQ(updates_.deadline(), now_);
  updates_.step(now_);
  updates_.step(now_ + 1h);
  EXPECT_EQ(followers_[0].posts, 1);
  EXPECT_EQ(followers_[1].posts, 1);
  EXPECT_EQ(updates_.deadline(), base::kNever);
}

TEST_F(FollowerUpdatesTest, a_follower_without_room_gets_it_later) {
  followers_[0].has_room = false;
  updates_.request(now_);
  updates_.step(now_);
  EXPECT_EQ(followers_[1].posts, 1);
  const base::Time again = now_ + FollowerUpdates::kAgain;
  ASSERT_EQ(updates_.deadline(), again);
  followers_[0].has_room = true;
  updates_.step(again - 1ns);
  EXPECT_EQ(followers_[0].posts, 0);
  updates_.step(again);
  EXPECT_EQ(followers_[0].posts, 1);
  EXPECT_EQ(followers_[1].posts, 2);
  EXPECT_EQ(updates_.deadline(), base::kNever);
}

TEST_F(FollowerUpdatesTest, a_change_meanwhile_is_not_delayed) {
  followers_[0].has_room = false;
  updates_.request(now_);
  updates_.step(now_);
  followers_[0].has_room = true;
  updates_.request(now_ + 1us);
  updates_.step(now_ + 1us);
  EXPECT_EQ(followers_[0].posts, 1);
  EXPECT_EQ(updates_.deadline(), base::kNever);
}

}  // namespace follower_updates_test
}  // namespace splitnic::control
