#include "tests/tidy/used_names.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

const SourceFile kDefinition{
    "base/status.h",
    "#include <string>\nclass [[nodiscard]] Status {\n};\nenum class Color { kRed };\n"};

Findings check(const SourceFile& user) { return check_used_names({kDefinition, user}); }

TEST(UsedNames, a_type_of_the_project_needs_its_header) {
  const Findings findings = check({"base/a.cc", "\nStatus status;\nStatus other;\n"});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "base/a.cc:2: Status needs base/status.h");
  EXPECT_EQ(check({"base/a.cc", "Color color;\n"}).size(), 1U);
  EXPECT_TRUE(check({"base/a.cc", "#include \"base/status.h\"\nStatus status;\n"}).empty());
}

TEST(UsedNames, a_header_may_bring_another) {
  const SourceFile header{"base/a.h", "#include \"base/status.h\"\n"};
  const SourceFile user{"base/a.cc", "#include \"base/a.h\"\nStatus status;\nstd::string text;\n"};
  EXPECT_TRUE(check_used_names({kDefinition, header, user}).empty());
  EXPECT_EQ(check_used_names({kDefinition, {"base/a.h", ""}, user}).size(), 2U);
}

TEST(UsedNames, a_forward_declaration_is_enough) {
  EXPECT_TRUE(check({"base/a.h", "class Status;\nvoid act(Status& status);\n"}).empty());
}

TEST(UsedNames, a_name_of_two_meanings_is_left_alone) {
  EXPECT_TRUE(check({"base/a.h", "class A {\n  enum class Status { kUp };\n  Status status;\n};\n"})
                  .empty());
  EXPECT_TRUE(
      check_used_names({{"tools/b.h", "struct Status {\n};\n"}, {"base/a.cc", "Status s;\n"}})
          .empty());
  EXPECT_TRUE(check({"base/a.cc", "// Status\nconst char* text = \"Status\";\n"}).empty());
}

TEST(UsedNames, a_standard_name_needs_its_header) {
  const Findings findings = check({"base/a.cc", "std::vector<int> list;\n"});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "base/a.cc:1: vector needs <vector>");
  EXPECT_TRUE(check({"base/a.cc", "#include <vector>\nstd::vector<int> list;\n"}).empty());
  EXPECT_TRUE(check({"base/a.cc", "vector list;\n"}).empty());
}

}  // namespace
}  // namespace splitnic::tidy
