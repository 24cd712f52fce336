// The house rules as tests, over the whole tree: a broken rule is a failed test that names file and
// line. The checkers are tested in the other files of this folder.
#include <gtest/gtest.h>

#include "tests/tidy/clock_rules.h"
#include "tests/tidy/folder_table_rules.h"
#include "tests/tidy/include_rules.h"
#include "tests/tidy/protocol_rules.h"
#include "tests/tidy/reference_rules.h"
#include "tests/tidy/text_rules.h"
#include "tests/tidy/used_names.h"
#include "tests/tidy/word_rules.h"

namespace splitnic::tidy {
namespace {

const SourceTree& tree() {
  static const SourceTree kTree = load_tree(find_root());
  return kTree;
}

std::string text_of(std::string_view path) {
  for (const SourceFile& file : tree()) {
    if (file.path == path) return file.text;
  }
  ADD_FAILURE() << path << " is not there";
  return {};
}

std::string listed(const Findings& findings) {
  std::string text;
  for (const std::string& one : findings) text += "\n  " + one;
  return text;
}

#define EXPECT_CLEAN(findings) EXPECT_TRUE((findings).empty()) << listed(findings)

TEST(Tidy, the_tree_is_found_and_read) {
  const auto has = [](std::string_view path) {
    return std::any_of(tree().begin(), tree().end(),
                       [&](const SourceFile& file) { return file.path == path; });
  };
  EXPECT_TRUE(has("CMakeLists.txt"));
  EXPECT_TRUE(has("base/check.h"));
  EXPECT_TRUE(has("tests/tidy/tidy_test.cc"));
  EXPECT_TRUE(has("scripts/test.sh"));
  EXPECT_GE(requirement_ids(tree()).size(), 164U + 48U);
}

TEST(Tidy, includes_go_down_only_S001_06) { EXPECT_CLEAN(check_include_levels(tree())); }
TEST(Tidy, leaf_headers_include_only_base) { EXPECT_CLEAN(check_leaf_headers(tree())); }
TEST(Tidy, third_parties_stay_where_they_belong) { EXPECT_CLEAN(check_third_parties(tree())); }
TEST(Tidy, every_permission_is_used) { EXPECT_CLEAN(check_unused_permissions(tree())); }
TEST(Tidy, headers_have_different_names) { EXPECT_CLEAN(check_header_names(tree())); }

TEST(Tidy, every_header_is_included) { EXPECT_CLEAN(check_dead_headers(tree())); }
TEST(Tidy, every_file_includes_what_it_uses) { EXPECT_CLEAN(check_used_names(tree())); }
TEST(Tidy, files_and_functions_are_short) { EXPECT_CLEAN(check_lengths(tree())); }
TEST(Tidy, headers_have_guards) { EXPECT_CLEAN(check_header_guards(tree())); }
TEST(Tidy, nothing_is_left_for_later_in_the_text) { EXPECT_CLEAN(check_banned_words(tree())); }
TEST(Tidy, no_test_skips_itself) { EXPECT_CLEAN(check_skipped_tests(tree())); }
TEST(Tidy, F_50_no_timer_follows_the_wall_clock) { EXPECT_CLEAN(check_wall_clock(tree())); }
TEST(Tidy, who_may_read_the_wall_clock_does) { EXPECT_CLEAN(check_wall_clock_users(tree())); }
TEST(Tidy, no_path_of_one_machine) { EXPECT_CLEAN(check_machine_paths(tree())); }
TEST(Tidy, named_pages_exist) { EXPECT_CLEAN(check_references(tree())); }
TEST(Tidy, the_folder_table_is_that_of_the_rules) {
  EXPECT_CLEAN(check_folder_table(text_of("docs/ARCHITECTURE.md")));
}
TEST(Tidy, the_folder_table_names_the_third_parties_that_are_used) {
  EXPECT_CLEAN(check_third_party_table(tree(), text_of("docs/ARCHITECTURE.md")));
}
TEST(Tidy, each_folder_of_tests_has_its_row) {
  EXPECT_CLEAN(check_test_folder_table(tree(), text_of("docs/HACKING.md")));
}
TEST(Tidy, the_glossary_bans_what_tidy_finds) {
  const std::string page = text_of("docs/GLOSSARY.md");
  EXPECT_FALSE(glossary_bans(page).empty());
  EXPECT_CLEAN(check_glossary(page));
}
TEST(Tidy, plain_english) { EXPECT_CLEAN(check_words(tree())); }
TEST(Tidy, clauses_of_the_protocol_are_unique_and_cited_ones_exist) {
  Findings twice;
  EXPECT_GE(clauses_of(tree(), twice).size(), 300U);
  EXPECT_CLEAN(check_clauses(tree()));
}
TEST(Tidy, ids_in_tags_and_test_names_exist) { EXPECT_CLEAN(check_clause_tags(tree())); }

}  // namespace
}  // namespace splitnic::tidy
