// Clauses of docs/protocol: an id is defined once, and one that is cited (P-CELL-3 in a comment,
// page or data file, P_CELL_3 in the name of a test) is defined.
#pragma once

#include <map>
#include <regex>
#include <string>

#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

inline constexpr std::string_view kProtocolPages = "docs/protocol";
// Files that hold ids on purpose.
inline constexpr std::array<std::string_view, 1> kClauseSamples = {
    "tests/tidy/protocol_rules_test.cc"};

// Returns the place where each clause is defined, "path:line"; the second place of one that is
// defined twice is a finding.
inline std::map<std::string, std::string> clauses_of(const SourceTree& tree, Findings& findings) {
  static const std::regex kDefinition(R"(^- \*\*(P-[A-Z]+-[1-9]\d*)\.\*\* .*)");
  std::map<std::string, std::string> clauses;
  for (const SourceFile& file : tree) {
    if (!file.below(kProtocolPages) || !file.ends_with(".md")) continue;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(file.text)) {
      ++number;
      std::cmatch match;
      if (!std::regex_match(line.data(), line.data() + line.size(), match, kDefinition)) continue;
      const auto [first, is_new] =
          clauses.try_emplace(match[1].str(), file.path + ":" + std::to_string(number));
      if (!is_new) {
        findings.push_back(
            finding(file, number, first->first + " is defined at " + first->second + " too"));
      }
    }
  }
  return clauses;
}

inline Findings check_clauses(const SourceTree& tree) {
  static const std::regex kCited(R"(\bP-[A-Z]+-\d+\b)");
  static const std::regex kNamed(R"((?:^|[^A-Za-z0-9])(P_[A-Z]+_\d+))");
  Findings findings;
  const std::map<std::string, std::string> clauses = clauses_of(tree, findings);
  const auto look = [&](const SourceFile& file, const std::regex& pattern, unsigned group) {
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), pattern), end; at != end;
         ++at) {
      std::string id = (*at)[group].str();
      std::replace(id.begin(), id.end(), '_', '-');
      if (clauses.contains(id)) continue;
      const auto where = file.text.begin() + at->position();
      const auto line = static_cast<std::size_t>(std::count(file.text.begin(), where, '\n')) + 1;
      findings.push_back(finding(file, line, id + " is no clause of docs/protocol"));
    }
  };
  for (const SourceFile& file : tree) {
    if (is_one_of(file, kClauseSamples)) continue;
    if (file.text.find("P-") != std::string::npos) look(file, kCited, 0);
    if (file.below("tests") && file.text.find("P_") != std::string::npos) look(file, kNamed, 1);
  }
  return findings;
}

}  // namespace splitnic::tidy
