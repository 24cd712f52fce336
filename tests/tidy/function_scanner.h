// Finds the functions of a C++ file by their braces: enough for the line limit, no parser.
// Comments, strings and characters are blanked first; then each `{` is classified by the text
// before it.
#pragma once

#include <cctype>
#include <regex>

#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

struct FunctionExtent {
  std::size_t first_line;  // of the signature
  std::size_t last_line;   // of the closing brace
  std::size_t lines() const { return last_line - first_line + 1; }
};

// The end (one past) of the comment, string or character that begins at `at`, or `at` if none does.
inline std::size_t skip_quoted(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const auto through = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("/*")) return through("*/", at + 2);
  const bool in_word = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 ||
                                  text[at - 1] == '_');
  if (!in_word && rest.starts_with("R\"")) {
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) return text.size();
    return through(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
  }
  const char quote = rest.empty() ? '\0' : rest.front();
  if (quote != '"' && (quote != '\'' || in_word)) return at;  // 1'000 is no character
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

// The text with everything quoted and every preprocessor line replaced by blanks, lines kept.
inline std::string blank_quoted(std::string_view text) {
  std::string out(text);
  bool line_begins = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = skip_quoted(text, at);
    if (end == at && line_begins && text[at] == '#') {
      end = at;
      do {
        end = std::min(text.find('\n', end + 1), text.size());
      } while (end < text.size() && text[end - 1] == '\\');
    }
    for (std::size_t i = at; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
    if (end == at) {
      line_begins = text[at] == '\n' || (line_begins && text[at] == ' ');
      ++end;
    }
    at = end;
  }
  return out;
}

enum class BraceKind { kScope, kFunction, kValue };

// Classifies the `{` after `before` (the text since the last `;`, `{` or `}` of its level), outside
// of functions.
inline BraceKind classify_brace(std::string before) {
  static const std::regex kScope(R"((^|[\s>])(namespace|extern|class|struct|union|enum)\b)");
  static const std::regex kAlignment(R"(alignas\([^)]*\))");
  if (before.find("alignas") != std::string::npos)
    before = std::regex_replace(before, kAlignment, "");
  const std::size_t last = before.find_last_not_of(" \n");
  if (last == std::string::npos) return BraceKind::kScope;
  if (last + 1 == before.size() && before[last] != ')') return BraceKind::kValue;  // name{...}
  if (std::string_view("=,(").find(before[last]) != std::string_view::npos)
    return BraceKind::kValue;
  if (before.find('(') != std::string::npos) return BraceKind::kFunction;
  return std::regex_search(before, kScope) ? BraceKind::kScope : BraceKind::kValue;
}

inline std::vector<FunctionExtent> functions_of(std::string_view source) {
  const std::string text = blank_quoted(source);
  std::vector<FunctionExtent> functions;
  std::string before;
  std::size_t line = 1;
  std::size_t begin_line = 1;  // where `before` has its first letter
  std::size_t depth = 0;       // braces inside the function or value that is being skipped
  BraceKind skipping = BraceKind::kScope;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (depth > 0) {
      depth += c == '{' ? 1U : 0U;
      depth -= c == '}' ? 1U : 0U;
      if (depth > 0) continue;
      if (skipping == BraceKind::kFunction) {
        functions.push_back({begin_line, line});
        before.clear();
      }
    } else if (c == '{' && classify_brace(before) != BraceKind::kScope) {
      skipping = classify_brace(before);
      depth = 1;
    } else if (c == ';' || c == '{' || c == '}') {
      before.clear();
    } else if (c == ':' && (before == "public" || before == "protected" || before == "private")) {
      before.clear();
    } else if (!before.empty() || (c != ' ' && c != '\n')) {
      if (before.empty()) begin_line = line;
      before += c;
    }
  }
  return functions;
}

}  // namespace splitnic::tidy
