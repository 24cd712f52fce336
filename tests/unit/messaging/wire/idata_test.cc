#include "messaging/wire/idata.h"

#include <gtest/gtest.h>

namespace splitnic::messaging::idata_test {

TEST(IdataTest, S001_19_X_05_golden_and_limits) {
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(7), 5, 256), 0x07050100U);
  EXPECT_EQ(PoolElementIdata::decode(0x07050100), (PoolElementIdata{7, 5, 256}));
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(255), 255, 65535), 0xFFFFFFFFU);
  EXPECT_EQ(PoolElementIdata::decode(0xFFFFFFFF), (PoolElementIdata{255, 255, 65535}));
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(255), 255, 65536), 0xFFFF0000U) << "size code 0";
  EXPECT_EQ(PoolElementIdata::decode(0xFFFF0000), (PoolElementIdata{255, 255, 65536}));
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(0), 0, 1), 1U) << "X-05: elements count from zero";
}

TEST(IdataTest, S001_19_X_07_each_limit_forces_the_message) {
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(256), 0, 1), std::nullopt);
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(0), 256, 1), std::nullopt);
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(0), 0, 65537), std::nullopt);
  EXPECT_EQ(PoolElementIdata::encode(PoolRef(0), 0, 0), std::nullopt);
  EXPECT_TRUE(PoolElementIdata::suits(PoolRef(255), 256, 65536));
  EXPECT_FALSE(PoolElementIdata::suits(PoolRef(256), 256, 65536));
  EXPECT_FALSE(PoolElementIdata::suits(PoolRef(255), 257, 65536));
  EXPECT_FALSE(PoolElementIdata::suits(PoolRef(255), 256, 65537));
}

TEST(IdataTest, S001_19_round_trip_of_every_pool_and_element) {
  for (std::uint32_t pool = 0; pool < 256; ++pool) {
    for (std::uint32_t element = 0; element < 256; ++element) {
      const std::uint32_t bytes = 1 + (pool * 257 + element) % 65536;
      const auto idata = PoolElementIdata::encode(PoolRef(pool), element, bytes);
      ASSERT_TRUE(idata);
      const auto back = PoolElementIdata::decode(*idata);
      ASSERT_EQ(back.pool, pool);
      ASSERT_EQ(back.element, element);
      ASSERT_EQ(back.bytes, bytes);
    }
  }
}

TEST(IdataTest, S001_20_X_06_offset_form_names_the_same_element) {
  // Element 5 of a pool of 2048-byte elements, by both forms.
  const auto by_offset = OffsetLengthIdata::encode(5 * 2048, 256);
  ASSERT_TRUE(by_offset);
  EXPECT_EQ(*by_offset, 0x00A00100U);
  const auto decoded = OffsetLengthIdata::decode(*by_offset);
  EXPECT_EQ(decoded.offset / 2048, PoolElementIdata::decode(0x07050100).element);
  EXPECT_EQ(decoded.bytes, PoolElementIdata::decode(0x07050100).bytes);
}

TEST(IdataTest, S001_20_offset_form_limits) {
  EXPECT_EQ(OffsetLengthIdata::encode((4U << 20) - 64, 65536), 0xFFFF0000U);
  EXPECT_EQ(OffsetLengthIdata::decode(0xFFFF0000).bytes, 65536U);
  EXPECT_EQ(OffsetLengthIdata::decode(0xFFFF0000).offset, (4U << 20) - 64);
  EXPECT_EQ(OffsetLengthIdata::encode(4U << 20, 1), std::nullopt);
  EXPECT_EQ(OffsetLengthIdata::encode(65, 1), std::nullopt) << "not aligned to the unit";
  EXPECT_EQ(OffsetLengthIdata::encode(64, 65537), std::nullopt);
  EXPECT_EQ(OffsetLengthIdata::encode(64, 0), std::nullopt);
  EXPECT_TRUE(OffsetLengthIdata::suits(4U << 20, 2048));
  EXPECT_FALSE(OffsetLengthIdata::suits((4U << 20) + 64, 2048));
  EXPECT_FALSE(OffsetLengthIdata::suits(1024, 100));
}

}  // namespace splitnic::messaging::idata_test
