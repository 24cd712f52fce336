#include "base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace splitnic::base::hex_test {

TEST(HexTest, digits_are_read_as_they_were_written) {
  const std::array bytes{std::byte{0x00}, std::byte{0x9a}, std::byte{0xff}};
  std::string text = "hex ";
  put_hex(text, bytes);
  EXPECT_EQ(text, "hex 009aff");
  std::array<std::byte, 3> read{};
  EXPECT_TRUE(parse_hex("009aff", read));
  EXPECT_EQ(read, bytes);
  EXPECT_TRUE(parse_hex("009AfF", read));
  EXPECT_EQ(read, bytes);
}

TEST(HexTest, anything_else_is_refused) {
  std::array<std::byte, 2> read{};
  for (const char* text : {"", "12", "123", "12345", "123456", "12g4", " 123", "+1-1", "0x12"}) {
    EXPECT_FALSE(parse_hex(text, read)) << text;
  }
}

}  // namespace splitnic::base::hex_test
