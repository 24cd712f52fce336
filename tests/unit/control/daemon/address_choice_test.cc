// Tests the choice among the addresses of a name, step by step.
#include "control/daemon/address_choice.h"

#include <gtest/gtest.h>

namespace splitnic::control {
namespace address_choice_test {

using namespace std::chrono_literals;

Endpoint at(const char* text) { return parse_endpoint(text).value(); }
const Endpoint kFirst = at("udp://10.0.0.1:7471");
const Endpoint kSecond = at("udp://[fd00::2]:7471");
const Endpoint kThird = at("udp://10.0.0.3:7471");
const base::Time kStart = base::Time() + 100s;

TEST(AddressChoiceTest, B_07_nothing_is_looked_up_while_the_peer_is_heard) {
  AddressChoice choice(kFirst, kStart);
  EXPECT_FALSE(choice.is_lookup_due(true, kStart + 1h));
  EXPECT_EQ(choice.deadline(), base::kNever);
  EXPECT_FALSE(choice.on_found({kSecond}, kStart + 1h));
  EXPECT_EQ(choice.in_use(), kFirst);
}

TEST(AddressChoiceTest, B_07_an_address_that_the_name_has_no_more_is_left_at_once) {
  AddressChoice choice(kFirst, kStart);
  EXPECT_TRUE(choice.is_lookup_due(false, kStart));
  EXPECT_TRUE(choice.is_looking_up());
  EXPECT_FALSE(choice.is_lookup_due(false, kStart + 1ms));  // one at a time
  EXPECT_EQ(choice.on_found({kSecond, kThird}, kStart + 2ms), kSecond);
  EXPECT_EQ(choice.deadline(), kStart + 2ms + AddressChoice::kLookUpEvery);
  EXPECT_FALSE(choice.is_lookup_due(false, choice.deadline() - 1ns));
  EXPECT_TRUE(choice.is_lookup_due(false, choice.deadline()));
}

TEST(AddressChoiceTest, B_07_each_address_has_its_time_in_turn) {
  AddressChoice choice(kFirst, kStart);
  std::vector<Endpoint> used;
  for (base::Time now = kStart; now < kStart + 12s; now += 50ms) {
    if (!choice.is_lookup_due(false, now)) continue;
    if (const auto next = choice.on_found({kFirst, kSecond, kThird}, now)) used.push_back(*next);
  }
  EXPECT_EQ(used, (std::vector{kSecond, kThird, kFirst, kSecond}));
}

// Of addresses where nobody is each gets up to 4 s; the one that the peer has moved to does not
// wait for all of them.
TEST(AddressChoiceTest, B_07_an_address_that_appears_is_next) {
  const Endpoint moved = at("udp://10.0.0.4:7471");
  for (const base::Duration appears : {900ms, 2200ms, 5000ms, 9900ms, 14'100ms}) {
    AddressChoice choice(kFirst, kStart);
    const base::Time at_last = kStart + appears + AddressChoice::kTryFor + 250ms;
    std::optional<base::Time> tried;
    for (base::Time now = kStart; now < at_last + 20s && !tried; now += 50ms) {
      if (!choice.is_lookup_due(false, now)) continue;
      std::vector<Endpoint> found{kFirst, kSecond, kThird};
      if (now >= kStart + appears) found.insert(found.begin(), moved);
      if (choice.on_found(found, now) == moved) tried = now;
    }
    ASSERT_TRUE(tried);
    EXPECT_LE(*tried, at_last) << appears / 1ms;
    EXPECT_FALSE(choice.on_found({moved, kFirst, kSecond, kThird}, *tried + 250ms));
    EXPECT_EQ(choice.in_use(), moved);
  }
}

TEST(AddressChoiceTest, B_07_one_address_and_none_change_nothing) {
  AddressChoice choice(kFirst, kStart);
  for (base::Time now = kStart; now < kStart + 10s; now += 50ms) {
    if (!choice.is_lookup_due(false, now)) continue;
    EXPECT_FALSE(
        choice.on_found(now < kStart + 5s ? std::vector{kFirst} : std::vector<Endpoint>(), now));
  }
}

TEST(AddressChoiceTest, B_07_an_address_that_cannot_be_used_is_tried_again) {
  AddressChoice choice(kFirst, kStart);
  EXPECT_TRUE(choice.is_lookup_due(false, kStart));
  EXPECT_EQ(choice.on_found({kSecond}, kStart), kSecond);
  choice.on_failed();
  EXPECT_TRUE(choice.is_lookup_due(false, kStart + 250ms));
  EXPECT_EQ(choice.on_found({kSecond}, kStart + 250ms), kSecond);
  EXPECT_TRUE(choice.is_lookup_due(false, kStart + 500ms));
  EXPECT_FALSE(choice.on_found({kSecond}, kStart + 500ms));
}

TEST(AddressChoiceTest, B_07_after_a_minute_lookups_are_rarer) {
  AddressChoice choice(kFirst, kStart);
  int lookups = 0;
  for (base::Time now = kStart; now < kStart + 10min; now += 50ms) {
    if (!choice.is_lookup_due(false, now)) continue;
    choice.on_found({kFirst}, now);
    ++lookups;
  }
  EXPECT_LE(lookups, 60 * 4 + 9 * 12 + 2);
  EXPECT_GE(lookups, 60 * 4 + 9 * 12 - 2);
  // A peer that was heard is silent once more: often again.
  EXPECT_FALSE(choice.is_lookup_due(true, kStart + 11min));
  EXPECT_TRUE(choice.is_lookup_due(false, kStart + 12min));
  choice.on_found({kFirst}, kStart + 12min);
  EXPECT_EQ(choice.deadline(), kStart + 12min + AddressChoice::kLookUpEvery);
}

}  // namespace address_choice_test
}  // namespace splitnic::control
