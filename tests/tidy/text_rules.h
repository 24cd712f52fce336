// Rules over the text of single files: lengths, headers, words, paths, and the ids of
// docs/REQUIREMENTS.md, docs/security.md and docs/operation.md.
#pragma once

#include <regex>
#include <set>

#include "tests/tidy/function_scanner.h"
#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

inline constexpr std::size_t kFileLinesMax = 400;
inline constexpr std::size_t kFunctionLinesMax = 70;

inline Findings check_lengths(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.is_cpp()) continue;
    const std::size_t lines = lines_of(file.text).size();
    if (lines > kFileLinesMax) {
      findings.push_back(finding(file, lines, std::to_string(lines) + " lines: split the file"));
    }
    if (file.below("tests")) continue;
    for (const FunctionExtent& function : functions_of(file.text)) {
      if (function.lines() <= kFunctionLinesMax) continue;
      findings.push_back(finding(file, function.first_line,
                                 std::to_string(function.lines()) + " lines: split the function"));
    }
  }
  return findings;
}

// The first line of a header that is neither blank nor comment is its guard.
inline Findings check_header_guards(const SourceTree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.is_header()) continue;
    for (const std::string_view line : lines_of(file.text)) {
      if (line.empty() || line.starts_with("//")) continue;
      if (line != "#pragma once") findings.push_back(finding(file, 1, "no #pragma once on top"));
      break;
    }
  }
  return findings;
}

// Lines that hold one of `literals` and, there, the expression: a search for letters is a hundred
// times faster than one for an expression, and nearly every line ends with it.
inline Findings find_pattern(const SourceTree& tree, const std::vector<std::string>& literals,
                             const std::string& pattern, const std::string& what) {
  const std::regex expression(pattern);
  Findings findings;
  for (const SourceFile& file : tree) {
    std::set<std::size_t> lines;  // where they begin
    for (const std::string& literal : literals) {
      for (std::size_t at = file.text.find(literal); at != std::string::npos;
           at = file.text.find(literal, at + 1)) {
        const std::size_t end_before = at == 0 ? std::string::npos : file.text.rfind('\n', at - 1);
        lines.insert(end_before == std::string::npos ? 0 : end_before + 1);
      }
    }
    for (const std::size_t begin : lines) {
      const auto from = file.text.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto to = std::find(from, file.text.end(), '\n');
      if (!std::regex_search(from, to, expression)) continue;
      const auto number = static_cast<std::size_t>(std::count(file.text.begin(), from, '\n')) + 1;
      findings.push_back(finding(file, number, what));
    }
  }
  return findings;
}

// The patterns are put together here, so that this file does not find itself.
inline Findings check_banned_words(const SourceTree& tree) {
  const std::vector<std::string> words = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                          std::string("XX") + "X", std::string("HA") + "CK"};
  std::string pattern;
  for (const std::string& word : words) pattern += (pattern.empty() ? "" : "|") + word;
  return find_pattern(tree, words, "\\b(" + pattern + ")\\b", "a marker for unfinished work");
}

inline Findings check_machine_paths(const SourceTree& tree) {
  const std::vector<std::string> roots = {std::string("/wo") + "rk/", std::string("/ho") + "me/",
                                          std::string("/ro") + "ot/", std::string("/Us") + "ers/"};
  std::string pattern;
  for (const std::string& root : roots) pattern += (pattern.empty() ? "" : "|") + root;
  return find_pattern(tree, roots, "(^|[^A-Za-z0-9_./-])(" + pattern + ")[A-Za-z0-9_.]",
                      "a path of one machine");
}

// A test that cannot run where it is fails: one that skips itself shows nothing, and nobody
// notices. The sample of tests/scripts is of tests that do not pass.
inline Findings check_skipped_tests(const SourceTree& tree) {
  const std::vector<std::string> words = {std::string("GTEST_") + "SKIP",
                                          std::string("DISABLED") + "_"};
  SourceTree tests;
  std::ranges::copy_if(tree, std::back_inserter(tests), [](const SourceFile& file) {
    return file.is_cpp() && file.below("tests") && !file.below("tests/scripts");
  });
  return find_pattern(tests, words, "\\b(" + words[0] + "|" + words[1] + ")",
                      "a test that is skipped or disabled");
}

inline constexpr std::array<std::string_view, 3> kIdPages = {
    "docs/REQUIREMENTS.md", "docs/security.md", "docs/operation.md"};

// The ids in the first column of the pages' tables.
inline std::set<std::string> requirement_ids(const SourceTree& tree) {
  static const std::regex kRow(R"(^\| (S00\d-\d\d|[A-Z]-\d{1,2}) \|.*)");
  std::set<std::string> ids;
  for (const SourceFile& file : tree) {
    if (!is_one_of(file, kIdPages)) continue;
    for (const std::string_view line : lines_of(file.text)) {
      std::cmatch match;
      if (std::regex_match(line.data(), line.data() + line.size(), match, kRow)) {
        ids.insert(match[1].str());
      }
    }
  }
  return ids;
}

// Every id in a clause tag of a source or in the name of a test is a row of a page. Findings have
// one digit or two.
inline Findings check_clause_tags(const SourceTree& tree) {
  static const std::regex kTag(
      R"(\[[^\]]*\b(?:S00\d-\d\d|[BXTPFSR]-\d\d|[HML]-\d{1,2})\b[^\]]*\])");
  static const std::regex kId(R"(\b(S00\d-\d\d|[BXTPFSR]-\d\d|[HML]-\d{1,2})\b)");
  static const std::regex kTestName(R"(^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*\w+,\s*(\w+)\))");
  static const std::regex kNamedId(R"((?:^|_)(S00\d_\d\d|[BXTPFSR]_\d\d|[HML]_\d{1,2})(?![0-9]))");
  const std::set<std::string> known = requirement_ids(tree);
  Findings findings;
  const auto look = [&](const SourceFile& file, std::size_t line, std::string text,
                        const std::regex& pattern) {
    for (std::sregex_iterator id(text.begin(), text.end(), pattern), end; id != end; ++id) {
      std::string name = (*id)[1].str();
      std::replace(name.begin(), name.end(), '_', '-');
      if (!known.contains(name)) {
        findings.push_back(finding(
            file, line,
            name + " is in none of docs/REQUIREMENTS.md, docs/security.md and docs/operation.md"));
      }
    }
  };
  for (const SourceFile& file : tree) {
    if (!file.is_cpp()) continue;
    std::size_t number = 0;
    for (const std::string_view view : lines_of(file.text)) {
      ++number;
      if (view.find_first_of("[(") == std::string_view::npos) continue;
      const std::string line(view);
      for (std::sregex_iterator tag(line.begin(), line.end(), kTag), end; tag != end; ++tag) {
        look(file, number, tag->str(), kId);
      }
      std::smatch test;
      if (std::regex_search(line, test, kTestName)) look(file, number, test[1].str(), kNamedId);
    }
  }
  return findings;
}

}  // namespace splitnic::tidy
