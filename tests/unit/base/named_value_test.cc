#include "base/named_value.h"

#include <gtest/gtest.h>

#include <array>

namespace splitnic::base::named_value_test {

enum class Fruit { kApple, kPear, kPlum };
constexpr auto kFruits =
    std::to_array<NamedValue<Fruit>>({{"apple", Fruit::kApple}, {"pear", Fruit::kPear}});
constexpr auto kSizes =
    std::to_array<NamedValue<std::optional<int>>>({{"ten", 10}, {"any", std::nullopt}});

TEST(NamedValueTest, finds_both_ways) {
  EXPECT_EQ(value_named(kFruits, "pear"), Fruit::kPear);
  EXPECT_EQ(value_named(kFruits, "plum"), std::nullopt);
  EXPECT_EQ(value_named(kFruits, "pea"), std::nullopt);
  EXPECT_STREQ(name_of(kFruits, Fruit::kApple), "apple");
}

TEST(NamedValueTest, nothing_may_be_a_value) {
  const auto found = value_named(kSizes, "any");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, std::nullopt);
  EXPECT_FALSE(value_named(kSizes, "none").has_value());
  EXPECT_STREQ(name_of(kSizes, std::optional<int>()), "any");
}

TEST(NamedValueDeathTest, a_value_without_a_name_is_a_bug) {
  EXPECT_DEATH(name_of(kFruits, Fruit::kPlum), "");
}

}  // namespace splitnic::base::named_value_test
