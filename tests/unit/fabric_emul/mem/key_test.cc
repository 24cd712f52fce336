// Keys and the permutation that hides them.
#include "fabric_emul/mem/key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
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

// Of the paper: key 1918 1110 0908 0100, plaintext 6574 694c, ciphertext a868 42f2.
TEST(KeyTest, L_5_the_permutation_gives_the_published_vector) {
  constexpr KeyPermutation permutation(std::uint64_t{0x1918'1110'0908'0100});
  EXPECT_EQ(permutation.to_handle(Key::parse(0x6574694C)), MemoryHandle(0xA86842F2));
  EXPECT_EQ(permutation.to_key(MemoryHandle(0xA86842F2)), Key::parse(0x6574694C));
}

// Each bit of the key and of the cipher's own key changes half of the handle.
TEST(KeyTest, L_5_every_bit_counts) {
  const auto changed = [](std::uint64_t other_key, std::uint32_t other_bits) {
    base::SeededRandom random(13);
    unsigned bits = 0;
    constexpr unsigned kRuns = 2000;
    for (unsigned i = 0; i < kRuns; ++i) {
      const std::uint64_t key = random.next();
      const std::uint32_t plain = random.next32();
      const KeyPermutation one(key);
      const KeyPermutation other(key ^ other_key);
      bits += static_cast<unsigned>(
          std::popcount(one.to_handle(Key::parse(plain)).value ^
                        other.to_handle(Key::parse(plain ^ other_bits)).value));
    }
    return bits / double{kRuns};
  };
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_NEAR(changed(std::uint64_t{1} << bit, 0), 16, 0.5) << bit;
  }
  for (unsigned bit = 0; bit < 32; ++bit) EXPECT_NEAR(changed(0, 1U << bit), 16, 0.5) << bit;
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
    for (unsigned byte = 0; byte < 4; ++byte) ++buckets[byte][(handle >> (8 * byte)) & 0xFFU];
  }
  // 3906 expected a bucket, standard deviation 62: five of them each way.
  for (const auto& byte : buckets) {
    for (std::uint32_t count : byte) EXPECT_NEAR(count, kSamples / 256.0, 5 * 62.5);
  }
}

// One handle reveals nothing about the next: if every bit of the next one is as good as a coin
// whatever the upper byte of this one was, a guesser gains nothing by it. 10^6 pairs in 256 groups:
// 3906 a group, a bit is set 1953 times, standard deviation 31.
TEST(KeyTest, S_59_one_handle_reveals_nothing_of_the_next) {
  base::SeededRandom random(12);
  const KeyPermutation permutation(random);
  std::array<std::array<std::uint32_t, 33>, 256> seen{};  // [32]: how many
  for (std::uint32_t index = 0; index < kSamples; ++index) {
    const std::uint32_t now = permutation.to_handle({index, kTagInstanceFirst}).value;
    const std::uint32_t next = permutation.to_handle({index + 1, kTagInstanceFirst}).value;
    auto& group = seen[now >> 24];
    ++group[32];
    for (unsigned bit = 0; bit < 32; ++bit) group[bit] += (next >> bit) & 1U;
  }
  double entropy_least = 32;
  for (const auto& group : seen) {
    double entropy = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const double p = static_cast<double>(group[bit]) / group[32];
      entropy -= p * std::log2(p) + (1 - p) * std::log2(1 - p);
    }
    entropy_least = std::min(entropy_least, entropy);
  }
  EXPECT_GT(entropy_least, 31.9);  // of 32 bits; reliability asks for 31
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
