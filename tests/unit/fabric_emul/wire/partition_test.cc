// Keys of partitions: who takes whose cells, and tables of them.
#include "fabric_emul/wire/partition.h"

#include <gtest/gtest.h>

#include "fabric_emul/wire/mac_header.h"

namespace splitnic::fabric {
namespace partition_test {

constexpr PartitionKey kFull1(0x8001), kLimited1(0x0001), kFull2(0x8002), kLimited2(0x0002);

TEST(PartitionTest, S004_20_members_match_if_one_of_them_is_a_full_one) {
  EXPECT_TRUE(match(kFull1, kFull1));
  EXPECT_TRUE(match(kFull1, kLimited1));
  EXPECT_TRUE(match(kLimited1, kFull1));
  EXPECT_FALSE(match(kLimited1, kLimited1));
  for (const PartitionKey one : {kFull1, kLimited1}) {
    for (const PartitionKey other : {kFull2, kLimited2, kDefaultPartition}) {
      EXPECT_FALSE(match(one, other)) << text_of(one) << text_of(other);
    }
  }
}

TEST(PartitionTest, S004_20_number_0_is_no_partition) {
  for (const PartitionKey none : {PartitionKey(0), PartitionKey(0x8000)}) {
    EXPECT_FALSE(match(none, none));
    EXPECT_FALSE(match(none, kFull1));
  }
}

// Over all keys: a match is symmetric, and a key has one or two that match it.
TEST(PartitionTest, S004_20_each_key_matches_its_own_number_only) {
  for (std::uint32_t value = 0; value <= 0xFFFF; ++value) {
    const PartitionKey key(static_cast<std::uint16_t>(value));
    const bool exists = number_of(key) != 0;
    ASSERT_EQ(match(key, as_full_member(key)), exists) << value;
    ASSERT_EQ(match(as_full_member(key), key), exists) << value;
    ASSERT_EQ(match(key, as_limited_member(key)), exists && is_full_member(key)) << value;
    ASSERT_FALSE(match(key, PartitionKey(static_cast<std::uint16_t>(value ^ 1U)))) << value;
  }
}

TEST(PartitionTest, S004_20_a_table_gives_the_own_key_that_takes_a_cell) {
  const PartitionTable table({kFull1, kLimited2});
  EXPECT_EQ(table.first(), kFull1);
  EXPECT_EQ(table.own(kLimited1), kFull1);
  EXPECT_EQ(table.own(kFull2), kLimited2);
  EXPECT_EQ(table.own(kLimited2), std::nullopt);
  EXPECT_EQ(table.own(kDefaultPartition), std::nullopt);
  EXPECT_TRUE(table.has(kLimited2));
  EXPECT_FALSE(table.has(kFull2));
}

// A node that is in no other one sends what nodes without partitions send.
TEST(PartitionTest, S004_20_the_default_is_a_full_member_of_0x7fff) {
  EXPECT_EQ(PartitionTable().first(), kDefaultPartition);
  EXPECT_EQ(MacHeader{}.partition, PartitionKey(0xFFFF));
  EXPECT_EQ(text_of(kDefaultPartition), "0xffff");
  EXPECT_EQ(text_of(kLimited1), "0x0001");
}

}  // namespace partition_test
}  // namespace splitnic::fabric
