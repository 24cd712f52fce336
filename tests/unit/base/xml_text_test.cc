#include "base/xml_text.h"

#include <gtest/gtest.h>

namespace splitnic::base::xml_text_test {

TEST(XmlTextTest, four_characters_are_entities) {
  EXPECT_EQ(escape_xml("<a b=\"1\">&"), "&lt;a b=&quot;1&quot;&gt;&amp;");
  EXPECT_EQ(escape_xml("&lt;"), "&amp;lt;") << "an entity is escaped too";
}

TEST(XmlTextTest, all_other_bytes_stay) {
  EXPECT_EQ(escape_xml(""), "");
  EXPECT_EQ(escape_xml("it's 5 ;\n"), "it's 5 ;\n");
  EXPECT_EQ(escape_xml("\xC3\xA9 \xFF"), "\xC3\xA9 \xFF");
}

}  // namespace splitnic::base::xml_text_test
