// Names that are followed while a program runs. The lookups are of addresses, which need no
// process.
#include "control/daemon/followed_names.h"

#include <gtest/gtest.h>

namespace splitnic::control {
namespace followed_names_test {

using namespace std::chrono_literals;

Endpoint at(const char* text) { return parse_endpoint(text).value(); }

class FollowedNamesTest : public ::testing::Test {
 protected:
  void add(std::size_t peer, const Endpoint& found, const Endpoint& in_use) {
    names_.add(peer, NameLookup::open(found, std::nullopt).value(), in_use, now_);
  }
  std::optional<FollowedNames::Move> next() {
    return names_.next([this](std::size_t peer) { return heard_.at(peer); }, now_);
  }

  FollowedNames names_;
  base::Time now_{1h};
  std::vector<bool> heard_{false, false};
};

TEST_F(FollowedNamesTest, B_06_a_peer_that_has_no_address_yet_is_led_to_the_first) {
  add(1, at("udp://10.0.0.7:7471"), Endpoint());
  const auto move = next();
  ASSERT_TRUE(move);
  EXPECT_EQ(move->peer, 1U);
  EXPECT_EQ(move->to, at("udp://10.0.0.7:7471"));
  EXPECT_FALSE(next());
  EXPECT_EQ(names_.deadline(), now_ + AddressChoice::kLookUpEvery);
}

TEST_F(FollowedNamesTest, B_07_a_peer_that_is_heard_is_not_looked_for) {
  add(0, at("udp://10.0.0.7:7471"), at("udp://10.0.0.8:7471"));
  heard_[0] = true;
  EXPECT_FALSE(next());
  EXPECT_EQ(names_.deadline(), base::kNever);
  heard_[0] = false;
  const auto move = next();
  ASSERT_TRUE(move);
  EXPECT_EQ(move->to, at("udp://10.0.0.7:7471"));
}

TEST_F(FollowedNamesTest, B_07_an_address_that_could_not_be_used_is_tried_again) {
  add(0, at("udp://10.0.0.7:7471"), Endpoint());
  ASSERT_TRUE(next());
  now_ += AddressChoice::kLookUpEvery;
  EXPECT_FALSE(next()) << "it is in use";
  names_.on_failed(0);
  now_ += AddressChoice::kLookUpEvery;
  const auto move = next();
  ASSERT_TRUE(move);
  EXPECT_EQ(move->to, at("udp://10.0.0.7:7471"));
}

}  // namespace followed_names_test
}  // namespace splitnic::control
