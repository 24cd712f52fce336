#include "fabric_emul/link/challenge.h"

#include <gtest/gtest.h>

#include <vector>

#include "fabric_emul/underlay/in_process_underlay.h"

namespace splitnic::fabric::challenge_test {

using namespace std::chrono_literals;

TEST(ChallengeTest, siphash_gives_the_published_vectors) {
  // Key 00..0f, input 00 01 02 ..: the reference vectors of SipHash-2-4 for 0, 8 and 15 bytes.
  const SipKey key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
  std::vector<std::byte> input;
  for (unsigned i = 0; i < 15; ++i) input.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(siphash(key, {}), 0x726fdb47dd0e0e31ULL);
  EXPECT_EQ(siphash(key, base::Bytes(input).first(8)), 0x93f5f5799a932462ULL);
  EXPECT_EQ(siphash(key, input), 0xa129ca6149be45e5ULL);
}

TEST(ChallengeTest, X_46_a_token_is_for_one_subject_and_a_short_time) {
  base::SeededRandom random(4);
  base::ManualClock clock;
  Challenge challenge(random);
  const Challenge::Subject subject{InProcessHub::address_of(1), Eui64(2), 3, 4};
  const std::uint64_t token = challenge.token(clock.now(), subject);
  EXPECT_TRUE(challenge.accepts(clock.now(), subject, token));
  EXPECT_FALSE(challenge.accepts(clock.now(), subject, token ^ 1));
  EXPECT_FALSE(challenge.accepts(clock.now(), subject, 0));
  Challenge::Subject other = subject;
  other.address = InProcessHub::address_of(2);
  EXPECT_FALSE(challenge.accepts(clock.now(), other, token));
  other = subject;
  other.eui64 = Eui64(9);
  EXPECT_FALSE(challenge.accepts(clock.now(), other, token));
  other = subject;
  other.instance = 9;
  EXPECT_FALSE(challenge.accepts(clock.now(), other, token));
  other = subject;
  other.replaced_instance = 9;
  EXPECT_FALSE(challenge.accepts(clock.now(), other, token));
  clock.advance(6s);
  EXPECT_TRUE(challenge.accepts(clock.now(), subject, token));
  clock.advance(6s);
  EXPECT_FALSE(challenge.accepts(clock.now(), subject, token));
}

TEST(ChallengeTest, tokens_do_not_outlive_a_long_pause) {
  base::SeededRandom random(4);
  base::ManualClock clock;
  Challenge challenge(random);
  const Challenge::Subject subject{InProcessHub::address_of(1), Eui64(2), 3, 0};
  const std::uint64_t token = challenge.token(clock.now(), subject);
  clock.advance(60s);
  EXPECT_FALSE(challenge.accepts(clock.now(), subject, token));
}

}  // namespace splitnic::fabric::challenge_test
