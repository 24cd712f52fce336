// TOML as values with their places.
#include "control/config/toml.h"

#include <gtest/gtest.h>

#include <string>

namespace splitnic::control {
namespace toml_test {

using Kind = TomlValue::Kind;

std::string error_of(const std::string& text) {
  const auto parsed = parse_toml(text);
  return parsed ? "none" : parsed.error().text();
}

TEST(TomlTest, values_have_their_places_and_the_order_of_the_text) {
  const auto parsed = parse_toml(
      "z = \"ä\" # why\n"
      "a = [1, true]\n"
      "[t.\"u v\"]\n"
      "  x = 1.5\n");
  ASSERT_TRUE(parsed) << parsed.error().text();
  ASSERT_EQ(parsed->inside.size(), 3U);
  const TomlValue& z = parsed->inside[0];
  EXPECT_EQ(z.name, "z");
  EXPECT_EQ(z.kind, Kind::kText);
  EXPECT_EQ(z.text, "ä");
  EXPECT_EQ(z.at.line, 1U);
  EXPECT_EQ(z.at.column, 5U);
  EXPECT_EQ(z.name_at.column, 1U);
  const TomlValue& a = parsed->inside[1];
  ASSERT_EQ(a.kind, Kind::kList);
  ASSERT_EQ(a.inside.size(), 2U);
  EXPECT_EQ(a.inside[0].number, 1);
  EXPECT_EQ(a.inside[1].kind, Kind::kFlag);
  EXPECT_TRUE(a.inside[1].is_set);
  EXPECT_EQ(a.inside[1].at.column, 9U);
  const TomlValue& t = parsed->inside[2];
  ASSERT_EQ(t.kind, Kind::kTable);
  const TomlValue& u = t.inside.at(0);
  EXPECT_EQ(u.name, "u v");
  EXPECT_EQ(u.name_at.line, 3U);
  EXPECT_EQ(u.name_at.column, 4U);
  EXPECT_EQ(u.inside.at(0).kind, Kind::kOther);
  EXPECT_EQ(u.inside.at(0).at.line, 4U);
  EXPECT_EQ(u.inside.at(0).at.column, 7U);
}

TEST(TomlTest, errors_have_line_and_column) {
  EXPECT_TRUE(error_of("a = 1\nb = \n").starts_with("line 2, column 5: ")) << error_of("b = \n");
  EXPECT_TRUE(error_of("a = 1\na = 2\n").starts_with("line 2, column "))
      << error_of("a = 1\na = 2");
  EXPECT_EQ(error_of(""), "none");
}

TEST(TomlTest, B_17_a_string_without_end_is_reported_where_it_begins) {
  const std::string why = "the string that begins here does not end in its line";
  EXPECT_EQ(error_of("a = 1\n  b = \"x\n"), "line 2, column 7: " + why);
  EXPECT_EQ(error_of("b = 'x"), "line 1, column 5: " + why);
  EXPECT_EQ(error_of("b = [\"x\", \"y]\nc = 1\n"), "line 1, column 11: " + why);
  EXPECT_EQ(error_of("b = \"x\\\"\r\n"), "line 1, column 5: " + why);
  EXPECT_EQ(error_of("\"b = 1\n"), "line 1, column 1: " + why);
  EXPECT_EQ(error_of("b = \"it's\" # it's\n'c' = \"'\"\n"), "none");
}

// Each would violate an assertion of the library.
TEST(TomlTest, what_no_name_begins_with_is_an_error) {
  for (const char* text :
       {"[!x]\n", "[.a]\n", "[[{]]\n", "[\x16hosts]\n", "[a.!]\n", "a.! = 1\n", "! = 1\n",
        "a = {! = 1}\n", "[", "[[", "a.", "a = {", "a = [", "\"", "a = \"\\"}) {
    EXPECT_TRUE(error_of(text).starts_with("line 1, column ")) << text << error_of(text);
  }
}

// Without the limits these exhaust the stack when they are read or freed.
TEST(TomlTest, R_62_nesting_is_bounded) {
  std::string names = "a";
  for (int i = 0; i < 64; ++i) names += ".a";
  EXPECT_EQ(error_of(names + " = 1\n"), "none");
  EXPECT_EQ(error_of("\n" + names + ".a = 1\n"),
            "line 2, column 130: more than 64 dots outside of strings in one line");
  std::string deep = "a";
  for (int i = 0; i < 250'000; ++i) deep += ".a";
  for (const std::string& text :
       {deep + " = 1\n", "[" + deep + "]\n", "x = {" + deep + " = 1}\n"}) {
    EXPECT_TRUE(error_of(text).starts_with("line 1, column ")) << error_of(text);
  }
  EXPECT_NE(error_of("a = " + std::string(100'000, '[')), "none");
  // Dots in strings and comments do not count.
  EXPECT_EQ(error_of("a = \"\\\"" + std::string(100, '.') + "\"\nb = '\\'\n"), "none");
  EXPECT_EQ(error_of("# " + std::string(100, '.') + "\na = 1\n"), "none");
}

// The library has undefined behaviour on some of these outside of strings.
TEST(TomlTest, characters_beyond_ascii_are_in_strings_and_comments) {
  EXPECT_EQ(error_of("a = \"\xEF\xBB\x97\" # \xEF\xBB\x97\n"), "none");
  EXPECT_EQ(error_of("\xEF\xBB\xBF"
                     "a = 1\n"),
            "none")
      << "a byte order mark";
  EXPECT_EQ(error_of("a = 1\n\xC3\xA4 = 1\n"),
            "line 2, column 1: a character beyond ASCII outside of a string");
  EXPECT_EQ(error_of("a = \"\xC3\xA4\" \xEF\xBB\x97\n"),
            "line 1, column 9: a character beyond ASCII outside of a string");
  EXPECT_EQ(error_of("a = \"\"\"\n\"\"\"\n"),
            "line 1, column 5: a string of several lines: write it in one");
  EXPECT_EQ(error_of("a = '''\n'''\n"),
            "line 1, column 5: a string of several lines: write it in one");
  EXPECT_EQ(error_of("a = \"\"\nb = ''\n"), "none");
  const auto ascii = parse_toml("a = 'x' # \xC3\xA4\nb = '\xC3\xA4'\n", TomlStrings::kAscii);
  ASSERT_FALSE(ascii);
  EXPECT_EQ(ascii.error().text(),
            "line 2, column 6: a character beyond ASCII outside of a comment");
}

}  // namespace toml_test
}  // namespace splitnic::control
