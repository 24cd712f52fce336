// References resolve: markdown links and anchors, paths in documents and comments, and headings
// that a comment names. References to papers that are not in the repository are findings.
#pragma once

#include <cctype>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/prose.h"

namespace splitnic::tidy {

// Files that name paths of other trees than this one.
inline constexpr std::array<std::string_view, 8> kPathSamples = {
    "tests/tidy/clock_rules_test.cc",     "tests/tidy/folder_table_rules_test.cc",
    "tests/tidy/include_rules_test.cc",   "tests/tidy/protocol_rules_test.cc",
    "tests/tidy/reference_rules_test.cc", "tests/tidy/text_rules_test.cc",
    "tests/tidy/used_names_test.cc",      "tests/tidy/word_rules_test.cc"};

// All paths of the tree, and the ways to name one: whole, without the extension of a source, or by
// its last parts ("mem/att" for fabric_emul/mem/att.h).
class PathIndex {
 public:
  explicit PathIndex(const SourceTree& tree) {
    for (const SourceFile& file : tree) {
      add(file.path);
      for (const char* extension : {".h", ".cc"}) {
        if (file.ends_with(extension))
          add(file.path.substr(0, file.path.size() - std::string_view(extension).size()));
      }
      for (std::size_t at = file.path.find('/'); at != std::string::npos;
           at = file.path.find('/', at + 1)) {
        if (folders_.insert(file.path.substr(0, at)).second) add(file.path.substr(0, at));
        folder_names_.insert(last_part(file.path.substr(0, at)));
      }
    }
  }

  bool has_path(const std::string& path) const { return paths_.contains(path); }
  bool has_name(const std::string& name) const { return names_.contains(name); }
  bool is_folder_name(const std::string& name) const { return folder_names_.contains(name); }

  static std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

 private:
  void add(const std::string& path) {
    paths_.insert(path);
    for (std::size_t at = 0; at != std::string::npos;) {
      names_.insert(path.substr(at));
      at = path.find('/', at);
      if (at != std::string::npos) ++at;
    }
  }

  std::set<std::string> paths_, names_, folders_, folder_names_;
};

// The anchors of a page, as code hosts make them from headings, and those that it sets itself.
inline std::set<std::string> anchors_of(std::string_view page) {
  static constexpr std::string_view kSet = "<a id=\"";
  std::set<std::string> anchors;
  for (const std::string_view line : lines_of(page)) {
    if (line.starts_with(kSet))
      anchors.insert(
          std::string(line.substr(kSet.size(), line.find('"', kSet.size()) - kSet.size())));
    const std::size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string_view::npos || line[text] != ' ') continue;
    std::string anchor;
    for (const char c : line.substr(text + 1)) {
      const auto letter = static_cast<unsigned char>(c);
      if (std::isalnum(letter) != 0 || c == '_' || c == '-')
        anchor += static_cast<char>(std::tolower(letter));
      else if (c == ' ')
        anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

inline std::string joined_path(std::string_view from_page, std::string_view target) {
  std::string folder(from_page.substr(0, from_page.rfind('/') + 1));
  if (from_page.find('/') == std::string_view::npos) folder.clear();
  return (std::filesystem::path(folder) / target).lexically_normal().generic_string();
}

class ReferenceChecker {
 public:
  explicit ReferenceChecker(const SourceTree& tree) : tree_(tree), paths_(tree) {
    for (const SourceFile& file : tree) {
      if (file.ends_with(".md")) anchors_[file.path] = anchors_of(file.text);
    }
  }

  Findings check() {
    for (const SourceFile& file : tree_) {
      if (is_one_of(file, kPathSamples)) continue;
      file_ = &file;
      if (file.ends_with(".md")) check_document();
      check_prose();
    }
    return findings_;
  }

 private:
  using Match = std::match_results<std::string::const_iterator>;

  template <typename OnMatch>
  void for_each(const std::string& text, const std::regex& expression, const OnMatch& on_match) {
    for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
      on_match(*it);
  }

  void report(std::size_t offset, const std::string& what) {
    const auto end = file_->text.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto line = static_cast<std::size_t>(std::count(file_->text.begin(), end, '\n')) + 1;
    findings_.push_back(finding(*file_, line, what));
  }

  static std::size_t offset_of(const Match& match, std::size_t group = 0) {
    return static_cast<std::size_t>(match.position(group));
  }

  void check_anchor(std::size_t offset, const std::string& page, const std::string& anchor) {
    const auto found = anchors_.find(page);
    if (found == anchors_.end() || found->second.contains(anchor)) return;
    report(offset, page + " has no heading for #" + anchor);
  }

  // [text](target#anchor), and names in backticks that look like a path.
  void check_document() {
    static const std::regex kLink(R"(\]\(([^()\s]+)\))");
    static const std::regex kSpan("`([^`\n]+)`");
    for_each(file_->text, kLink, [&](const Match& match) {
      const std::string target = match[1].str();
      if (target.find("://") != std::string::npos) return;
      const std::size_t hash = std::min(target.find('#'), target.size());
      const std::string page =
          hash == 0 ? file_->path : joined_path(file_->path, target.substr(0, hash));
      if (!paths_.has_path(page))
        report(offset_of(match), page + " does not exist");
      else if (hash < target.size())
        check_anchor(offset_of(match), page, target.substr(hash + 1));
    });
    for_each(file_->text, kSpan, [&](const Match& match) {
      const std::string span = match[1].str();
      const std::string path = span.substr(0, span.find(' '));
      if (!looks_like_path(path)) return;
      if (!resolves(path)) report(offset_of(match), path + " does not exist");
    });
  }

  // A name with the extension of our files, or folders of the tree with '/' between.
  bool looks_like_path(const std::string& path) const {
    static const std::regex kFile(R"(\.?[A-Za-z0-9_./-]+\.(h|cc|md|proto|py|sh|lua))");
    static const std::regex kFolders(R"(\.?[A-Za-z0-9_-]+(/[A-Za-z0-9_.-]*)+)");
    if (path.starts_with("build/") || path.starts_with('/')) return false;
    if (std::regex_match(path, kFile)) return true;
    return std::regex_match(path, kFolders) &&
           paths_.is_folder_name(path.substr(0, path.find('/')));
  }

  bool resolves(std::string path) const {
    if (path.ends_with('/')) path.pop_back();
    return paths_.has_name(path) || paths_.has_path(joined_path(file_->path, path));
  }

  // The path exists where a reader of the file looks: from the root, or in its folder.
  bool is_found_from_here(const std::string& path) const {
    return paths_.has_path(path) || paths_.has_path(joined_path(file_->path, path));
  }

  // Comments, literals and documents: pages of docs, also with #anchor or with a "Heading" behind;
  // our files with their extension, in sources with the whole path or as one of the same folder;
  // references to papers.
  void check_prose() {
    static const std::regex kPage(
        R"re((docs/[\w./-]+\.md)(#([\w-]+))?(,? +(section +)?"([^"\n]+)")?)re");
    static const std::regex kFile(
        R"((^|[^\w./<{*$%-])((?:[\w-]+/)*[\w-]+\.(?:h|cc|md|proto))(?![\w*]))");
    static const std::regex kPaper(
        R"(\[\d+\.\d+\]|\bSection +\d+(\.\d+)?\b)"
        R"(|[\[(](requirements|reliability|performance|formats),? +P?\d[\d.]*[\])])");
    const std::string prose = file_->ends_with(".md") ? file_->text : prose_of(*file_);
    if (prose.find(".md") != std::string::npos)
      for_each(prose, kPage, [&](const Match& match) { check_page(match); });
    if (!file_->ends_with(".md") && prose.find_first_of('.') != std::string::npos) {
      for_each(prose, kFile, [&](const Match& match) {
        const std::string path = match[2].str();
        if (path.starts_with("docs/")) return;
        if (!resolves(path) && !is_foreign(path))
          report(offset_of(match, 2), path + " does not exist");
        else if (file_->is_cpp() && !path.ends_with(".md") && paths_.has_name(path) &&
                 !is_found_from_here(path))
          report(offset_of(match, 2), path + " is in another folder: write its whole path");
      });
    }
    for_each(prose, kPaper, [&](const Match& match) {
      report(offset_of(match), match.str() + " is not in the repository: name a page of docs");
    });
  }

  void check_page(const Match& match) {
    const std::string page = match[1].str();
    if (!paths_.has_path(page)) return report(offset_of(match), page + " does not exist");
    if (match[3].matched) check_anchor(offset_of(match), page, match[3].str());
    if (!match[6].matched) return;
    const std::set<std::string> heading = anchors_of("# " + match[6].str());
    check_anchor(offset_of(match), page, *heading.begin());
  }

  // Headers of the system and of libraries.
  bool is_foreign(const std::string& path) const {
    const std::string folder = path.substr(0, path.find('/'));
    const bool is_ours = folder != path && paths_.is_folder_name(folder);
    return !is_ours && (path.ends_with(".h") || path.starts_with("google/"));
  }

  const SourceTree& tree_;
  PathIndex paths_;
  std::map<std::string, std::set<std::string>> anchors_;
  const SourceFile* file_ = nullptr;
  Findings findings_;
};

inline Findings check_references(const SourceTree& tree) { return ReferenceChecker(tree).check(); }

}  // namespace splitnic::tidy
