#include "tests/tidy/text_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

std::string repeated(const std::string& line, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += line;
  return text;
}

// A function of `lines` lines, signature and closing brace included.
std::string function_of_lines(std::size_t lines) {
  return "int f(int a) {\n" + repeated("  if (a) { a += 1; }\n", lines - 2) + "}\n";
}

TEST(TextRules, file_length) {
  EXPECT_TRUE(check_lengths({{"base/a.h", repeated("int a;\n", 400)}}).empty());
  EXPECT_EQ(check_lengths({{"base/a.h", repeated("int a;\n", 401)}}).size(), 1U);
  EXPECT_EQ(check_lengths({{"tests/a.cc", repeated("int a;\n", 401)}}).size(), 1U);
  EXPECT_TRUE(check_lengths({{"docs/a.md", repeated("text\n", 401)}}).empty());
}

TEST(TextRules, a_test_does_not_skip_itself) {
  const std::string skips = std::string("  if (!is_root) GTEST_") + "SKIP();\n";
  const std::string disabled = std::string("TEST(A, DISABLED") + "_b) {}\n";
  EXPECT_EQ(check_skipped_tests({{"tests/unit/a_test.cc", skips}}).size(), 1U);
  EXPECT_EQ(check_skipped_tests({{"tests/unit/a_test.cc", disabled}}).size(), 1U);
  EXPECT_TRUE(check_skipped_tests({{"tests/scripts/groups_sample.cc", skips + disabled}}).empty());
  EXPECT_TRUE(check_skipped_tests({{"tests/unit/a_test.cc", "int skip = 0;\n"}}).empty());
}

TEST(TextRules, function_length_wherever_the_function_stands) {
  const std::string fits = function_of_lines(70);
  const std::string longer = function_of_lines(71);
  for (const char* before :
       {"", "namespace a::b {\n", "namespace {\nclass C : public B {\n public:\n",
        "template <typename T>\nstruct alignas(8) S final {\n",
        "constexpr int kTable[] = {1, 2};\nenum class E { kA };\n"}) {
    EXPECT_TRUE(check_lengths({{"base/a.cc", before + fits}}).empty()) << before;
    EXPECT_EQ(check_lengths({{"base/a.cc", before + longer}}).size(), 1U) << before;
  }
  EXPECT_TRUE(check_lengths({{"tests/a.cc", longer}}).empty());
}

TEST(TextRules, constructors_with_braces_and_long_signatures_count_once) {
  const std::string text =
      "Foo::Foo(int a,\n         int b)\n    : a_{a}, b_{b}, c_(0) {\n  run();\n}\n"
      "auto g() -> std::vector<int> { return {1}; }\n";
  const std::vector<FunctionExtent> functions = functions_of(text);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].first_line, 1U);
  EXPECT_EQ(functions[0].last_line, 5U);
  EXPECT_EQ(functions[1].lines(), 1U);
}

TEST(TextRules, braces_in_comments_strings_and_macros_do_not_count) {
  const std::string text =
      "int f() {  // {\n  /* { */ s = \"{\\\"\"; c = '{'; n = 1'000; r = R\"x({)x\";\n}\n"
      "#define M(x) \\\n  {\nint g() {\n}\n";
  const std::vector<FunctionExtent> functions = functions_of(text);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].last_line, 3U);
  EXPECT_EQ(functions[1].first_line, 6U);
  EXPECT_EQ(functions[1].last_line, 7U);
}

TEST(TextRules, values_and_types_are_no_functions) {
  EXPECT_TRUE(
      functions_of("constexpr auto kA = std::to_array<int>({1, 2});\n"
                   "struct S {\n  int a{1};\n  int b = 2;\n};\nextern \"C\" {\n}\n"
                   "enum class E : unsigned char {\n  kA,\n};\nstd::array<int, 2> a{1, 2};\n")
          .empty());
}

TEST(TextRules, header_guards) {
  EXPECT_TRUE(check_header_guards({{"base/a.h", "// What.\n\n#pragma once\n"}}).empty());
  EXPECT_EQ(check_header_guards({{"base/a.h", "// What.\n#include <a>\n#pragma once\n"}}).size(),
            1U);
  EXPECT_TRUE(check_header_guards({{"base/a.cc", "int a;\n"}}).empty());
}

TEST(TextRules, banned_words) {
  for (const std::string& word : {std::string("TO") + "DO", std::string("FIX") + "ME"}) {
    EXPECT_EQ(check_banned_words({{"docs/a.md", "fine\nnot yet: " + word + "(a)\n"}}).size(), 1U);
  }
  EXPECT_TRUE(
      check_banned_words({{"docs/a.md", "a " + std::string("to") + "do list; mkstemp a.XXXXXX\n"}})
          .empty());
}

TEST(TextRules, machine_paths) {
  const std::string home = std::string("/ho") + "me/someone/x";
  EXPECT_EQ(check_machine_paths({{"scripts/a.sh", "cd " + home + "\n"}}).size(), 1U);
  EXPECT_EQ(check_machine_paths({{"base/a.cc", "\"" + home + "\"\n"}}).size(), 1U);
  EXPECT_TRUE(check_machine_paths({{"scripts/a.sh", "cd /tmp/x; a/work/b; /run/home/\n"}}).empty());
}

TEST(TextRules, ids_must_be_rows) {
  const SourceFile page{"docs/REQUIREMENTS.md",
                        "| Id |\n|---|\n| S001-37 | now | x |\n| X-38 | y |\n"};
  const auto count = [&](const std::string& text) {
    return check_clause_tags({page, {"base/a.cc", text}}).size();
  };
  // In pieces: whoever looks through the tree for ids of rows finds none that is missing.
  const std::string missing = "99";
  EXPECT_EQ(count("// checked here [S001-37, X-38]\n"), 0U);
  EXPECT_EQ(count("// [S001-37 to S001-" + missing + "]\n"), 1U);
  EXPECT_EQ(count("// [X-39] [X-38]\n"), 1U);
  EXPECT_EQ(count("// [IBA C9-92] and a[i-01]\n"), 0U);
  EXPECT_EQ(count("TEST(A, S001_37_and_X_38) {\n"), 0U);
  EXPECT_EQ(count("TEST_F(A, b_S001_" + missing + "_and_S001_37) {\n"), 1U);
  EXPECT_EQ(count("TEST(A, T_25_limit) {\n"), 1U);
  EXPECT_EQ(count("int S001_" + missing + " = 0;\n"), 0U);
  const SourceFile operation{"docs/operation.md", "| Id |\n|---|\n| B-19 | mended | x |\n"};
  EXPECT_EQ(
      check_clause_tags({operation, {"base/a.cc", "TEST(A, B_19_speed) {\n// [B-19]\n"}}).size(),
      0U);
  EXPECT_EQ(check_clause_tags({operation,
                               {"base/a.cc",
                                "TEST(A, B_"
                                "99_speed) {\n"}})
                .size(),
            1U);
  const SourceFile findings{"docs/security.md", "| Id |\n|---|\n| H-4 | mended | x |\n"};
  const auto count_findings = [&](const std::string& text) {
    return check_clause_tags({findings, {"base/a.cc", text}}).size();
  };
  EXPECT_EQ(count_findings("TEST(A, H_4_limit) {\n// [H-4]\n"), 0U);
  EXPECT_EQ(count_findings("TEST(A, H_"
                           "5_limit) {\n// [L-"
                           "16]\n"),
            2U);
}

}  // namespace
}  // namespace splitnic::tidy
