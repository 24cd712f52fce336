#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/counters.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "base/random.h"
#include "base/ring.h"
#include "base/status.h"
#include "base/strong_id.h"

namespace splitnic::base {
namespace {

TEST(Crc32c, check_value) { EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283U); }

TEST(Crc32c, extends_in_pieces) {
  Crc32c crc;
  crc.extend(as_bytes("1234"));
  crc.extend(as_bytes("56789"));
  EXPECT_EQ(crc.value(), 0xE3069283U);
}

// Bit by bit, from the polynomial.
std::uint32_t crc_of_bits(Bytes bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

// Short inputs take another code path than long ones: every length around the change, at every
// alignment.
TEST(Crc32c, every_length_and_alignment_matches_the_polynomial) {
  SeededRandom random(1);
  std::vector<std::byte> storage(600);
  for (std::byte& byte : storage) byte = static_cast<std::byte>(random.next32());
  for (std::size_t size = 0; size < 300; ++size) {
    const Bytes bytes = Bytes(storage).subspan(size % 16, size);
    ASSERT_EQ(crc32c(bytes), crc_of_bits(bytes)) << size;
    Crc32c split;
    split.extend(bytes.first(size / 3));
    split.extend(bytes.subspan(size / 3));
    ASSERT_EQ(split.value(), crc_of_bits(bytes)) << size;
  }
}

TEST(Endian, big_and_little) {
  std::byte at[4];
  store_be<std::uint32_t>(at, 0x11223344U);
  EXPECT_EQ(at[0], std::byte{0x11});
  EXPECT_EQ(load_be<std::uint16_t>(at + 2), 0x3344U);
  const Le16 v(0x1234);
  std::memcpy(at, &v, 2);
  EXPECT_EQ(at[0], std::byte{0x34});
}

struct SeqTag;
using Seq = Serial<SeqTag, 24>;

TEST(Serial, distance_wraps) {
  EXPECT_EQ(Seq(0) - Seq(0xFFFFFF), 1);
  EXPECT_EQ(Seq(0xFFFFFF) - Seq(0), -1);
  EXPECT_TRUE(before(Seq(0xFFFFFE), Seq(3)));
  EXPECT_EQ((Seq(0xFFFFFF) + 2U).value, 1U);
}

TEST(Ring, what_an_element_owns_goes_when_it_is_popped) {
  const auto owned = std::make_shared<int>(1);
  Ring<std::shared_ptr<int>> ring(2);
  ring.push(owned);
  ring.push_slot() = owned;
  EXPECT_EQ(owned.use_count(), 3);
  ring.pop();
  ring.pop_back();
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(Ring, fills_and_wraps) {
  Ring<int> ring(3);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 3; ++i) ring.push(i);
    EXPECT_TRUE(ring.full());
    EXPECT_EQ(ring.back(), 2);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ring.front(), i);
      ring.pop();
    }
    EXPECT_TRUE(ring.empty());
  }
}

TEST(Ring, a_rewound_ring_begins_at_its_first_slot) {
  Ring<int> ring(3);
  const int* const first = &ring.push(1);
  ring.pop();
  EXPECT_NE(&ring.push(2), first);
  ring.pop();
  ring.rewind();
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(&ring.push(3), first);
  EXPECT_EQ(ring.front(), 3);
  EXPECT_EQ(ring.size(), 1U);
}

TEST(Status, context_is_prefixed) {
  const Status status = Error::from_errno("opening x", 2);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().within("starting").text(),
            "starting: opening x: No such file or directory");
}

TEST(Random, same_seed_same_numbers_and_bounds_hold) {
  SeededRandom a(7);
  SeededRandom b(7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.next(), b.next());
    EXPECT_LT(a.below(10), 10U);
    EXPECT_LT(b.below(10), 10U);
  }
}

}  // namespace
}  // namespace splitnic::base
