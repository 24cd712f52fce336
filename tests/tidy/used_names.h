// Every file includes the headers of the names that it uses, directly or through headers of the
// project. A build hides a missing include: precompiled headers and batches of sources bring names
// that the file itself lacks.
#pragma once

#include <map>

#include "tests/tidy/function_scanner.h"
#include "tests/tidy/include_rules.h"

namespace splitnic::tidy {

struct StdName {
  std::string_view name;  // behind std::
  std::string_view header;
};

// Names that a precompiled header brings, and others that many files use.
inline constexpr auto kStdNames = std::to_array<StdName>({
    {"all_of", "algorithm"},
    {"any_of", "algorithm"},
    {"clamp", "algorithm"},
    {"copy", "algorithm"},
    {"copy_n", "algorithm"},
    {"fill", "algorithm"},
    {"find_if", "algorithm"},
    {"max", "algorithm"},
    {"min", "algorithm"},
    {"none_of", "algorithm"},
    {"sort", "algorithm"},
    {"array", "array"},
    {"to_array", "array"},
    {"atomic", "atomic"},
    {"bit_cast", "bit"},
    {"bit_ceil", "bit"},
    {"bit_width", "bit"},
    {"countr_zero", "bit"},
    {"has_single_bit", "bit"},
    {"popcount", "bit"},
    {"chrono", "chrono"},
    {"byte", "cstddef"},
    {"int32_t", "cstdint"},
    {"int64_t", "cstdint"},
    {"uint16_t", "cstdint"},
    {"uint32_t", "cstdint"},
    {"uint64_t", "cstdint"},
    {"uint8_t", "cstdint"},
    {"memcmp", "cstring"},
    {"memcpy", "cstring"},
    {"memset", "cstring"},
    {"strerror", "cstring"},
    {"deque", "deque"},
    {"function", "functional"},
    {"map", "map"},
    {"multimap", "map"},
    {"make_shared", "memory"},
    {"make_unique", "memory"},
    {"shared_ptr", "memory"},
    {"unique_ptr", "memory"},
    {"mutex", "mutex"},
    {"nullopt", "optional"},
    {"optional", "optional"},
    {"set", "set"},
    {"span", "span"},
    {"string", "string"},
    {"to_string", "string"},
    {"string_view", "string_view"},
    {"thread", "thread"},
    {"tuple", "tuple"},
    {"exchange", "utility"},
    {"forward", "utility"},
    {"move", "utility"},
    {"pair", "utility"},
    {"variant", "variant"},
    {"visit", "variant"},
    {"vector", "vector"},
    {"unordered_map", "unordered_map"},
});

// Every name in `code`: its words, each with what stands before it.
template <class Visit>
void for_each_name(std::string_view code, Visit&& visit) {
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = 0; at < code.size();) {
    if (!is_letter(code[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && is_letter(code[end])) ++end;
    visit(code.substr(at, end - at), code.substr(0, at));
    at = end;
  }
}

// The files of the product, and of each the code and the files of the project that it includes,
// itself among them.
class UsedNames {
 public:
  explicit UsedNames(const SourceTree& tree) {
    for (const SourceFile& file : tree) {
      if (file.below("tests")) continue;
      if (file.is_cpp()) files_[file.path] = {&file, blank_quoted(file.text), includes_of(file)};
      if (file.ends_with(".proto")) collect_types("generated", file.text, "message ");
    }
    for (const auto& [path, file] : files_) {
      for (const std::string_view keyword : {"class ", "struct ", "enum ", "using "}) {
        collect_types(path, file.code, keyword);
      }
    }
  }

  Findings check() const {
    Findings findings;
    for (const auto& entry : files_) {
      const std::string& path = entry.first;
      const File& file = entry.second;
      const std::set<std::string> reached = closure(path);
      std::set<std::string> std_headers;
      for (const std::string& one : reached) {
        for (const Include& include : files_.at(one).includes) std_headers.insert(include.header);
      }
      std::set<std::string> reported;
      for_each_name(file.code, [&](std::string_view name, std::string_view before) {
        if (before.ends_with("CLI::")) return;
        const std::string missing = before.ends_with("std::") ? missing_std(name, std_headers)
                                                              : missing_type(name, path, reached);
        if (missing.empty() || !reported.insert(std::string(name)).second) return;
        const auto line =
            static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
        findings.push_back(finding(*file.source, line, std::string(name) + " needs " + missing));
      });
    }
    return findings;
  }

 private:
  struct File {
    const SourceFile* source = nullptr;
    std::string code;
    std::vector<Include> includes;
  };
  struct Place {
    std::string path;
    bool at_line_begin;  // in a namespace, not in a class
  };

  // Adds what the lines with `keyword` define; a forward declaration defines nothing.
  void collect_types(const std::string& path, std::string_view code, std::string_view keyword) {
    for (const std::string_view line : lines_of(code)) {
      const std::size_t indent = line.find_first_not_of(' ');
      if (indent == std::string_view::npos || !line.substr(indent).starts_with(keyword)) continue;
      std::string name;
      for_each_name(line.substr(indent + keyword.size()),
                    [&](std::string_view word, std::string_view) {
                      if (name.empty() && word != "class" && word != "nodiscard") name = word;
                    });
      const bool is_forward =
          keyword != "using " && line.ends_with(';') && line.find('{') == std::string_view::npos;
      const bool is_alias = keyword != "using " || line.find('=') != std::string_view::npos;
      if (name.empty() || !is_alias) continue;
      if (is_forward) {
        forward_[path].insert(name);
      } else {
        types_[name].push_back({path, indent == 0});
      }
    }
  }

  std::set<std::string> closure(const std::string& path) const {
    std::set<std::string> reached = {path};
    std::vector<std::string> open = {path};
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      for (const Include& include : files_.at(next).includes) {
        if (files_.contains(include.header) && reached.insert(include.header).second)
          open.push_back(include.header);
      }
    }
    return reached;
  }

  static std::string missing_std(std::string_view name, const std::set<std::string>& headers) {
    const auto* const found = std::find_if(kStdNames.begin(), kStdNames.end(),
                                           [&](const StdName& one) { return one.name == name; });
    if (found == kStdNames.end() || headers.contains(std::string(found->header))) return {};
    return "<" + std::string(found->header) + ">";
  }

  // Only names that one header defines, in a namespace, and nobody else defines anything by: others
  // may mean another thing. A file that may not include the header means another thing too.
  std::string missing_type(std::string_view name, const std::string& path,
                           const std::set<std::string>& reached) const {
    const auto found = types_.find(name);
    if (found == types_.end() || found->second.size() != 1) return {};
    const Place& place = found->second.front();
    const auto forward = forward_.find(path);
    if (forward != forward_.end() && forward->second.contains(std::string(name))) return {};
    if (!place.at_line_begin || !place.path.ends_with(".h") || reached.contains(place.path))
      return {};
    return include_is_allowed(folder_of(path), place.path) ? place.path : std::string();
  }

  std::map<std::string, File> files_;
  std::map<std::string, std::set<std::string>> forward_;
  std::map<std::string, std::vector<Place>, std::less<>> types_;
};

inline Findings check_used_names(const SourceTree& tree) { return UsedNames(tree).check(); }

}  // namespace splitnic::tidy
