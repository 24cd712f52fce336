#include "base/node_name.h"

#include <gtest/gtest.h>

namespace splitnic::base {
namespace node_name_test {

TEST(NodeNameTest, a_clean_name_keeps_the_rule_and_what_kept_it_already) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::string before : {"", "a"}) {
      const std::string text = before + static_cast<char>(byte);
      const std::string clean = clean_node_name(text);
      EXPECT_TRUE(is_node_name(clean)) << byte;
      EXPECT_EQ(clean == text, is_node_name(text)) << byte;
    }
  }
  EXPECT_EQ(clean_node_name(std::string(100, 'a')), std::string(kNodeNameMax, 'a'));
  EXPECT_EQ(clean_node_name(""), "");
  EXPECT_FALSE(is_node_name(""));
}

}  // namespace node_name_test
}  // namespace splitnic::base
