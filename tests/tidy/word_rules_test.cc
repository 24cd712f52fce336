#include "tests/tidy/word_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

std::size_t count(const std::string& path, const std::string& text) {
  return check_words({{path, text}}).size();
}

TEST(WordRules, each_place_where_prose_stands) {
  EXPECT_EQ(count("base/a.h", "// It begins anew.\n"), 1U);
  EXPECT_EQ(count("base/a.h", "/* It begins\n   anew. */\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "log(\"It begins anew\");\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "It begins anew.\n"), 1U);
  EXPECT_EQ(count("packaging/man/a.8", "\\fBanew\\fR\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "true  # begins anew\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "fail 'begins anew'\n"), 1U);
  EXPECT_EQ(count("tests/bench/a.py", "\"\"\"It begins\nanew.\"\"\"\n"), 1U);
  EXPECT_EQ(count("messaging/a.proto", "// It begins anew.\n"), 1U);
  EXPECT_EQ(count("tools/a.lua", "x = 1 -- begins anew\n"), 1U);
  EXPECT_EQ(count("CMakeLists.txt", "# It begins anew.\n"), 1U);
}

TEST(WordRules, lines_of_the_log_are_plain_english) {
  EXPECT_EQ(count("base/a.cc", "log(name + \" is there again\");\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "log(name + \" is looked for at \" + address);\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "log(\"trying \" + name + \" at \" + address);\n"), 0U);
  EXPECT_EQ(count("base/a.cc", "log(name + \" is back\");\n"), 0U);
}

TEST(WordRules, code_is_no_prose) {
  EXPECT_EQ(count("base/a.cc", "int beside = nobodys(figures);\n"), 0U);
  EXPECT_EQ(count("tests/bench/a.py", "figures = beside(figure)\n"), 0U);
  EXPECT_EQ(count("tests/bench/a.py", "f\"{figures} of {beside}\"\n"), 0U);
  EXPECT_EQ(count("tests/bench/a.py", "f\"{figures} beside\"\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "The step `answer`:\n\n```\nanswer  octets\n```\n"), 0U);
  EXPECT_EQ(count("docs/a.md", "[the response](wire/answer.md)\n"), 0U);
}

TEST(WordRules, identifiers_are_taken_apart) {
  EXPECT_EQ(count("base/a.h", "int payload_octets = 0;\n"), 1U);
  EXPECT_EQ(count("base/a.h", "constexpr int kPayloadOctets = 0;\n"), 1U);
  EXPECT_EQ(count("base/a.h", "constexpr int kCellsATurn = 0;\n"), 2U);
  EXPECT_EQ(count("base/a.h", "struct RDMAAnswer {};\n"), 1U);
  EXPECT_EQ(count("base/a.h", "int kept = turned + return_of(lower_bound);\n"), 0U);
}

TEST(WordRules, identifiers_of_scripts_are_taken_apart_too) {
  EXPECT_EQ(count("tests/e2e/a.sh", "answered_by() {\n"), 1U);
  EXPECT_EQ(count("tests/bench/a.py", "payload_octets = 1\n"), 1U);
  EXPECT_EQ(count("tests/bench/a.py", "f\"{octets} B\"\n"), 1U);
  EXPECT_EQ(count("tools/a.lua", "local f_octets = 1\n"), 1U);
  EXPECT_EQ(count("messaging/a.proto", "uint32 octets = 1;\n"), 1U);
  EXPECT_EQ(count("tests/CMakeLists.txt", "e2e_check(not_answered)\n"), 1U);
  EXPECT_EQ(count("cmake/a.cmake", "set(octets 1)\n"), 1U);
  EXPECT_EQ(count("tests/a.toml", "octets = 1\n"), 1U);
  EXPECT_EQ(count("scripts/a", "#!/bin/sh\noctets() { :; }\n"), 1U);
  EXPECT_EQ(count("base/a.h", "#define OCTETS 1\n"), 1U);
  EXPECT_EQ(count("packaging/a.service", "Octets=1\n"), 0U) << "keys of another program";
}

TEST(WordRules, quotes_and_here_documents_of_shell_are_prose) {
  EXPECT_EQ(count("scripts/a.sh", "f 'one\nfigure' figure\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "f \"one \\\" two\nfigure\" figure\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "f \\\"\nfigure\n# \"\n"), 0U);
  EXPECT_EQ(count("scripts/a.sh", "cat <<TEXT figure\nfigure\nTEXT\nfigure\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "cat <<-'TEXT'\n\tfigure\n\tTEXT\nfigure\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "cat <<<$FIGURE\nfigure\n# figure\n"), 1U);
  EXPECT_EQ(count("scripts/a.sh", "cat <<TEXT\nfigure\n"), 1U) << "without an end";
}

TEST(WordRules, every_form_of_a_verb_in_prose_and_code) {
  for (const std::string verb : {"say", "says", "said", "saying", "tell", "tells", "told",
                                 "telling", "wish", "wishes", "wished", "wishing"}) {
    EXPECT_EQ(count("base/a.h", "// It " + verb + " so.\n"), 1U) << verb;
    EXPECT_EQ(count("base/a.h", "bool has_" + verb + "_bye();\n"), 1U) << verb;
    EXPECT_EQ(count("tests/e2e/a.sh", verb + "_once() {\n"), 1U) << verb;
  }
  EXPECT_EQ(count("base/a.h", "// host.idle.given_back\nvoid give_back();\n"), 2U);
}

TEST(WordRules, names_of_tests_are_sentences) {
  EXPECT_EQ(count("tests/a.cc", "TEST(A, each_bit_is_cleared_in_turn) {\n"), 0U);
  EXPECT_EQ(count("tests/a.cc", "TEST(A, each_bit_is_believed_anew) {\n"), 2U);
  EXPECT_EQ(count("tests/a.cc", "int turn_of_a = 0;\n"), 1U);
}

TEST(WordRules, a_phrase_goes_over_the_end_of_a_line_and_not_over_code) {
  EXPECT_EQ(count("base/a.h", "int a;  // it goes\n        // on with the next\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "f(\"it goes \"\n  \"on\");\n"), 1U);
  EXPECT_EQ(count("base/a.h", "int a;  // as it goes\nint b;  // on the wire\n"), 0U);
  EXPECT_EQ(count("base/a.h", "// It goes. On and off.\n"), 0U);
  EXPECT_EQ(count("docs/a.md", "it goes\non with the next\n"), 1U);
}

TEST(WordRules, what_is_allowed) {
  EXPECT_EQ(count("docs/a.md", "at the most significant bit\n"), 0U);
  EXPECT_EQ(count("docs/a.md", "at the most\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "it goes on lane 15\n"), 0U);
  EXPECT_EQ(count("base/a.h", "// ANSWER\nvoid on_answer();\n"), 0U);
  EXPECT_EQ(count("base/a.cc", "f(\"answer\"); f(\"no answer\");\n"), 1U);
  EXPECT_EQ(count("base/a.h", "// Answer\nvoid on_answers();\n"), 2U);
  EXPECT_EQ(count("docs/protocol/a.md", "octets\n"), 0U);
  EXPECT_EQ(count("docs/a.md", "octets\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "bool did = false;\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "bool did_it = false;\n"), 0U);
  EXPECT_EQ(count("base/a.cc", "auto moved = f();\n"), 1U);
  EXPECT_EQ(count("tests/a.cc", "auto moved = f();\n"), 0U);
  EXPECT_EQ(count("tests/unit/a.h", "struct UnitBench {};\n"), 1U);
  EXPECT_EQ(count("tests/bench/a.h", "struct UnitBench {};\n"), 0U);
  EXPECT_EQ(count("tools/a.h", "struct UnitBench {};\n"), 0U);
}

TEST(WordRules, only_the_table_and_its_samples_are_exempt) {
  EXPECT_EQ(count("tests/tidy/word_list.h", "// octets\n"), 0U);
  EXPECT_EQ(count("tests/tidy/word_rules_test.cc", "// octets\n"), 0U);
  EXPECT_EQ(count("tests/tidy/word_rules.h", "// octets\n"), 1U);
}

TEST(WordRules, per_is_not_a) {
  EXPECT_EQ(count("docs/a.md", "10 frames a second\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "one call a batch\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "It sends a frame. That is a second Get. Frames: a cell.\n"), 0U);
}

TEST(WordRules, headings_are_no_clauses) {
  EXPECT_EQ(count("docs/a.md", "## What it shows\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "# Where time passes\n"), 1U);
  EXPECT_EQ(count("docs/a.md", "## Findings\n\nWhat is measured.\n"), 0U);
  EXPECT_EQ(count("base/a.h", "// What it does.\n"), 1U);
  EXPECT_EQ(count("base/a.h", "// Which host it is.\n"), 1U);
  EXPECT_EQ(count("base/a.h", "// Hosts.\n// When it is late, it ends.\n"), 0U);
  EXPECT_EQ(count("base/a.h", "// It does what\n"), 0U);
  EXPECT_EQ(count("base/a.h", "\n// Whether it does.\nbool does();\n"), 0U);
}

TEST(WordRules, every_phrase_of_the_table_is_found) {
  for (const WordRule& rule : kWordList) {
    std::string sample;  // the first alternative of each word
    for (std::string_view rest = rule.phrase; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      sample += (sample.empty() ? "" : " ");
      for (const char c : word.substr(0, word.find('|'))) {
        if (c != '*') sample += c;
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const bool is_prose = (rule.where & kProse) != 0;
    if (!is_prose) std::replace(sample.begin(), sample.end(), ' ', '_');
    const std::string path = (rule.where & kTestsOnly) != 0 ? "tests/a.cc" : "base/a.cc";
    EXPECT_GE(count(path, (is_prose ? "// " : "") + sample + "\n"), 1U) << sample;
    EXPECT_FALSE(rule.instead.empty()) << sample;
  }
}

TEST(WordRules, a_finding_names_file_line_and_a_better_word) {
  const Findings findings = check_words({{"base/a.h", "int a;\n\n// It is sent\n// anew.\n"}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].starts_with("base/a.h:4: \"anew\": write re-create")) << findings[0];
}

TEST(WordRules, the_glossary_and_the_table_agree) {
  EXPECT_TRUE(check_glossary("| say | meaning | not |\n| reply | x | answer, `did` |\n").empty());
  EXPECT_EQ(check_glossary("| reply | x | answer, retort |\n| frame | y | |\n").size(), 1U);
}

TEST(WordRules, names_in_prose_are_taken_apart) {
  EXPECT_EQ(count("base/a.h", "// iou.to_host.octets counts.\n"), 1U);
  EXPECT_EQ(count("base/a.h", "// Adds payload_octets.\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "f(\"10 frames_a_second\");\n"), 1U);
  EXPECT_EQ(count("base/a.cc", "f(\"'octets' and (octets)\");\n"), 2U);
  EXPECT_EQ(count("base/a.h", "// Nobody's. The octet's.\n"), 2U);
  EXPECT_EQ(count("base/a.h", "// Sets on_answer and _.\n"), 0U);
  EXPECT_EQ(count("docs/a.svg", "<text octets=\"1\">octets</text>\n"), 1U);
}

}  // namespace
}  // namespace splitnic::tidy
