// The project's files as text, for the checkers of this folder: a checker takes files and returns
// findings, one line each, "path:line: what is wrong". An empty list means clean. No checker
// touches the disk.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace splitnic::tidy {

using Findings = std::vector<std::string>;

struct SourceFile {
  std::string path;  // from the root, with '/'
  std::string text;

  bool ends_with(std::string_view suffix) const { return std::string_view(path).ends_with(suffix); }
  bool below(std::string_view folder) const {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  }
  bool is_header() const { return ends_with(".h"); }
  bool is_cpp() const { return is_header() || ends_with(".cc"); }
};
using SourceTree = std::vector<SourceFile>;

inline bool is_one_of(const SourceFile& file, std::span<const std::string_view> paths) {
  return std::find(paths.begin(), paths.end(), file.path) != paths.end();
}

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

inline std::string finding(const SourceFile& file, std::size_t line, const std::string& what) {
  return file.path + ":" + std::to_string(line) + ": " + what;
}

// The closest folder above `from` that holds both CMakeLists.txt and base/.
inline std::filesystem::path find_root_above(std::filesystem::path from) {
  for (; from.has_relative_path(); from = from.parent_path()) {
    if (std::filesystem::exists(from / "CMakeLists.txt") &&
        std::filesystem::exists(from / "base")) {
      return from;
    }
  }
  return {};
}

// That of the program, if it was built below its tree. A path of a source may be that of another
// clone: ccache shares objects.
inline std::filesystem::path find_root() {
  const auto root = find_root_above(std::filesystem::read_symlink("/proc/self/exe"));
  return root.empty() ? find_root_above(std::filesystem::absolute(__FILE__)) : root;
}

inline SourceTree load_tree(const std::filesystem::path& root) {
  static constexpr std::array kFolders = {
      "base",       "fabric_emul", "lan_bridge",    "messaging", "control",  "host_module",
      "iou_module", "conformance", "switch_module", "tools",     "tests",    "docs",
      "scripts",    "packaging",   "cmake",         "debian",    "examples", ".ci"};
  static constexpr std::array kText = {".h",    ".cc",   ".md",       ".txt",   ".cmake", ".proto",
                                       ".sh",   ".py",   ".json",     ".8",     ".1",     ".in",
                                       ".toml", "",      ".service",  ".lua",   ".svg",   ".7",
                                       ".html", ".fish", ".postinst", ".prerm", ".rules", ".conf"};
  SourceTree tree;
  const auto take = [&](const std::filesystem::path& path) {
    // Of other files, pictures for example, only the path counts.
    const bool is_text =
        std::find(kText.begin(), kText.end(), path.extension().string()) != kText.end();
    std::string text;
    if (is_text) {
      std::ifstream in(path, std::ios::binary);
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    tree.push_back({std::filesystem::relative(path, root).generic_string(), std::move(text)});
  };
  for (const char* folder : kFolders) {
    if (!std::filesystem::exists(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const bool corpus = entry.path().generic_string().find("/corpus/") != std::string::npos;
      if (entry.is_regular_file() && !corpus) take(entry.path());
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    // In a work tree .git is a file that names the repository's folder.
    if (entry.is_regular_file() && entry.path().filename() != ".git") take(entry.path());
  }
  std::sort(tree.begin(), tree.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

}  // namespace splitnic::tidy
