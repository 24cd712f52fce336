#include "base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace splitnic::base::parse_number_test {

TEST(ParseNumber, the_whole_text_is_a_number_in_the_range) {
  EXPECT_EQ(parse_number<std::uint16_t>("65535", 1, 65535), 65535);
  EXPECT_EQ(parse_number<std::uint32_t>("007", 7, 7), 7U);
  EXPECT_EQ(parse_number<double>("2.5e3", 0, 1e4), 2500.0);
  EXPECT_EQ(parse_number<double>("-1", -1, 1), -1.0);
}

TEST(ParseNumber, a_number_of_another_radix) {
  EXPECT_EQ(parse_number<unsigned>("fF", 0, 255, 16), 255U);
  EXPECT_EQ(parse_number<unsigned>("10", 0, 255, 16), 16U);
  for (const char* text : {"", "0x1", "100", "g", "f "}) {
    EXPECT_FALSE(parse_number<unsigned>(text, 0, 255, 16)) << text;
  }
}

TEST(ParseNumber, anything_else_is_refused) {
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "0x1", "1.5", "one", "65536", "0"}) {
    EXPECT_FALSE(parse_number<std::uint16_t>(text, 1, 65535)) << text;
  }
  constexpr double kMax = std::numeric_limits<double>::max();
  for (const char* text : {"nan", "inf", "-inf", "1e999", "1s", ""}) {
    EXPECT_FALSE(parse_number(text, -kMax, kMax)) << text;
  }
}

}  // namespace splitnic::base::parse_number_test
