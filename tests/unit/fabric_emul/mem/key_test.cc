// Keys and the permutation that hides them.
#include "fabric_emul/mem/key.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <unordered_set>

namespace splitnic::fabric {
namespace key_test {

constexpr std::uint32_t kSamples = 1'000'000;

TEST(KeyTest, S002_03_index_is_the_upper_24_bits_and_instance_the_lower_8) {
  EXPECT_EQ((Key{0x2A, 1}).bits(), 0x00002A01U);
  EXPECT_EQ(Key::parse(0x00002A01U), (Key{0x2A, 1}));
  EXPECT_EQ((Key{kTagIndexReserved, 0xFF}).bits(), 0xFFFFFFFFU);
  EXPECT_EQ(Key::parse(0xABCDEF12U), (Key{0xABCDEF, 0x12}));
}

TEST(KeyTest, S004_06_identity_handle_is_the_key) {
  const KeyPermutation identity;
  EXPECT_EQ(identity.to_handle({0x2A, 1}), MemoryHandle(0x00002A01));
  EXPECT_EQ(identity.to_key(MemoryHandle(0x00002A01)), (Key{0x2A, 1}));
}

TEST(KeyTest, permutation_is_inverted_for_every_sampled_value_and_its_border) {
  base::SeededRandom random(7);
  const KeyPermutation permutation(random);
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const std::uint32_t bits = i * 4294U;
    ASSERT_EQ(permutation.to_key(permutation.to_handle(Key::parse(bits))).bits(), bits);
  }
  for (std::uint32_t bits : {0U, 1U, 0xFFFFU, 0x10000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(permutation.to_key(permutation.to_handle(Key::parse(bits))).bits(), bits);
    EXPECT_EQ(permutation.to_handle(permutation.to_key(MemoryHandle(bits))).value, bits);
  }
}

TEST(KeyTest, neighbouring_indices_give_distinct_handles) {
  base::SeededRandom random(8);
  const KeyPermutation permutation(random);
  std::unordered_set<std::uint32_t> seen;
  for (std::uint32_t index = 0; index < kSamples / 4; ++index) {
    seen.insert(permutation.to_handle({index, kTagInstanceFirst}).value);
  }
  EXPECT_EQ(seen.size(), kSamples / 4);
}

// The differences of successive handles repeat no more than chance allows (a counter or a plain XOR
// would give one difference again and again), and each bit of the next handle changes half the
// time.
TEST(KeyTest, S_59_the_next_handle_does_not_follow_from_the_last) {
  base::SeededRandom random(9);
  const KeyPermutation permutation(random);
  std::unordered_set<std::uint32_t> differences;
  std::array<std::uint32_t, 32> flips{};
  constexpr std::uint32_t kPairs = 100'000;
  for (std::uint32_t index = 0; index < kPairs; ++index) {
    const std::uint32_t now = permutation.to_handle({index, 1}).value;
    const std::uint32_t next = permutation.to_handle({index + 1, 1}).value;
    differences.insert(next - now);
    for (unsigned bit = 0; bit < 32; ++bit) flips[bit] += ((now ^ next) >> bit) & 1U;
  }
  // Random 32-bit differences: 100000^2 / 2^33, about 1.2, coincide.
  EXPECT_GT(differences.size(), kPairs - 200);
  for (std::uint32_t count : flips) {
    EXPECT_GT(count, kPairs * 48 / 100);
    EXPECT_LT(count, kPairs * 52 / 100);
  }
}

TEST(KeyTest, S_59_handles_of_a_dense_table_are_uniform) {
  base::SeededRandom random(10);
  const KeyPermutation permutation(random);
  std::array<std::array<std::uint32_t, 256>, 4> buckets{};
  for (std::uint32_t index = 0; index < kSamples; ++index) {
    const std::uint32_t handle = permutation.to_handle({index, kTagInstanceFirst}).value;
    for (unsigned octet = 0; octet < 4; ++octet) ++buckets[octet][(handle >> (8 * octet)) & 0xFFU];
  }
  // 3906 expected a bucket, standard deviation 62: five of them each way.
  for (const auto& octet : buckets) {
    for (std::uint32_t count : octet) EXPECT_NEAR(count, kSamples / 256.0, 5 * 62.5);
  }
}

TEST(KeyTest, two_adapters_give_different_handles_for_the_same_key) {
  base::SeededRandom first(1);
  base::SeededRandom second(2);
  const KeyPermutation one(first);
  const KeyPermutation other(second);
  unsigned equal = 0;
  for (std::uint32_t index = 0; index < 1000; ++index) {
    equal += one.to_handle({index, 1}) == other.to_handle({index, 1}) ? 1U : 0U;
  }
  EXPECT_LE(equal, 1U);
}

}  // namespace key_test
}  // namespace splitnic::fabric
