// The tables of folders in the pages against the tree: docs/ARCHITECTURE.md names what each folder
// may include, docs/HACKING.md the levels of tests.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/tidy/include_rules.h"

namespace splitnic::tidy {

// The names in a cell of the table in docs/ARCHITECTURE.md: "mem, libpcap (ports)".
inline std::vector<std::string> names_of_cell(std::string_view cell) {
  std::vector<std::string> names;
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find(','), cell.size());
    std::string name(cell.substr(0, std::min(cell.find('('), end)));
    std::erase_if(name, [](char c) { return c == ' ' || c == '`'; });
    cell.remove_prefix(std::min(end + 1, cell.size()));
    if (name != "nothing") names.push_back(std::move(name));
  }
  return names;
}

inline bool is_third_party(std::string_view name) {
  return std::any_of(third_party_rules().begin(), third_party_rules().end(),
                     [&](const ThirdPartyRule& rule) { return rule.name == name; });
}

inline std::set<std::string> third_parties_of_cell(std::string_view cell) {
  std::set<std::string> parties;
  for (std::string& name : names_of_cell(cell)) {
    if (is_third_party(name)) parties.insert(std::move(name));
  }
  return parties;
}

// fabric_emul/ may be left out.
inline std::set<std::string> targets_of_cell(std::string_view cell) {
  std::set<std::string> targets;
  for (const std::string& name : names_of_cell(cell)) {
    if (is_third_party(name)) continue;
    const auto leaves = leaf_headers();
    const auto is_known = [&](const std::string& path) {
      return std::find(leaves.begin(), leaves.end(), path) != leaves.end() ||
             std::any_of(folder_rules().begin(), folder_rules().end(),
                         [&](const FolderRule& rule) { return rule.folder == path; });
    };
    targets.insert(is_known("fabric_emul/" + name) ? "fabric_emul/" + name : name);
  }
  return targets;
}

// The cells with what each folder may include, of rows "| `folder` | contents | cell | ...".
inline std::vector<std::string_view> cells_of_folder(std::string_view page,
                                                     std::string_view folder) {
  const std::string row_begin = "| `" + std::string(folder) + "` | ";
  std::vector<std::string_view> cells;
  for (std::string_view line : lines_of(page)) {
    if (!line.starts_with(row_begin)) continue;
    line.remove_prefix(row_begin.size());
    line.remove_prefix(std::min(line.find(" | ") + 3, line.size()));
    cells.push_back(line.substr(0, line.find(" | ")));
  }
  return cells;
}

// Rows of that table that differ from the rules: absent ones, and targets too many or too few.
inline Findings check_folder_table(std::string_view page) {
  Findings findings;
  for (const FolderRule& rule : folder_rules()) {
    const auto report = [&](const std::string& what) {
      findings.push_back("docs/ARCHITECTURE.md: " + std::string(rule.folder) + what);
    };
    std::set<std::string> rules(rule.may_include.begin(), rule.may_include.end());
    rules.erase("base");  // in the head of the column
    const auto cells = cells_of_folder(page, rule.folder);
    for (const std::string_view cell : cells) {
      const auto row = targets_of_cell(cell);
      for (const std::string& target : rules) {
        if (!row.contains(target)) report(" may include " + target);
      }
      for (const std::string& target : row) {
        if (!rules.contains(target)) report(" may not include " + target);
      }
    }
    if (cells.empty()) report(" has no row");
  }
  return findings;
}

// Third parties whose headers the files of a folder include and its row does not name, and the
// reverse. The rules have their places more exactly (check_third_parties()).
inline Findings check_third_party_table(const SourceTree& tree, std::string_view page) {
  std::set<std::pair<std::string_view, std::string_view>> used;
  for (const SourceFile& file : tree) {
    if (!file.is_cpp() || folder_of(file.path).empty()) continue;
    for (const Include& include : includes_of(file)) {
      for (const ThirdPartyRule& rule : third_party_rules()) {
        if (std::regex_match(include.header, rule.header)) {
          used.insert({folder_of(file.path), rule.name});
        }
      }
    }
  }
  std::set<std::string_view> parties;
  for (const ThirdPartyRule& rule : third_party_rules()) parties.insert(rule.name);
  Findings findings;
  for (const FolderRule& rule : folder_rules()) {
    std::set<std::string> named;
    for (const std::string_view cell : cells_of_folder(page, rule.folder)) {
      named.merge(third_parties_of_cell(cell));
    }
    for (const std::string_view party : parties) {
      const bool is_used = used.contains({rule.folder, party});
      if (is_used == named.contains(std::string(party))) continue;
      findings.push_back("docs/ARCHITECTURE.md: " + std::string(rule.folder) +
                         (is_used ? " includes " : " does not include ") + std::string(party));
    }
  }
  return findings;
}

// Folders of tests/ that have no row "| `tests/NAME` |" in the table of levels of docs/HACKING.md,
// and rows of folders that do not exist.
inline Findings check_test_folder_table(const SourceTree& tree, std::string_view page) {
  static constexpr std::string_view kTests = "tests/";
  static constexpr std::string_view kRow = "| `tests/";
  std::set<std::string_view> folders, rows;
  for (const SourceFile& file : tree) {
    const std::string_view path = file.path;
    if (!path.starts_with(kTests)) continue;
    const std::size_t end = path.find('/', kTests.size());
    if (end != std::string_view::npos) folders.insert(path.substr(0, end));
  }
  for (const std::string_view line : lines_of(page)) {
    if (!line.starts_with(kRow)) continue;
    const std::size_t begin = kRow.size() - kTests.size();
    rows.insert(line.substr(begin, line.find('`', begin) - begin));
  }
  Findings findings;
  for (const std::string_view folder : folders) {
    if (!rows.contains(folder)) {
      findings.push_back("docs/HACKING.md: " + std::string(folder) + " has no row");
    }
  }
  for (const std::string_view row : rows) {
    if (!folders.contains(row)) {
      findings.push_back("docs/HACKING.md: there is no " + std::string(row));
    }
  }
  return findings;
}

}  // namespace splitnic::tidy
