// Takes the prose out of a file of the project: comments and string literals of sources and
// scripts, the text of documents. The result has the length of the file, so an offset in it is an
// offset in the file. Everything that is not prose is kGap; the end of a comment line and the
// beginning of the next are blanks, so a phrase may go over both.
#pragma once

#include "tests/tidy/function_scanner.h"
#include "tests/tidy/source_tree.h"

namespace splitnic::tidy {

inline constexpr char kGap = '\1';

inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Sets [from, to) to `with`, but keeps blanks.
inline void cover(std::string& text, std::size_t from, std::size_t to, char with = kGap) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
    if (!is_blank(text[i])) text[i] = with;
  }
}

// Names in backticks are no prose.
inline void cover_code_spans(std::string& text) {
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at + 1)) {
    const std::size_t end = text.find('`', at + 1);
    const std::size_t paragraph = text.find("\n\n", at);
    if (end == std::string::npos || end > paragraph) continue;
    cover(text, at, end + 1);
    at = end;
  }
}

inline std::string prose_of_cpp(std::string_view source) {
  std::string out(source.size(), kGap);
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = skip_quoted(source, at);
    if (end == at) {
      if (is_blank(source[at])) out[at] = ' ';
      ++at;
      continue;
    }
    for (std::size_t i = at; i < end; ++i) {
      const bool is_mark = i == at || (i == at + 1 && source[at] == '/');
      out[i] = is_mark || i + 1 == end || is_blank(source[i]) ? ' ' : source[i];
    }
    if (source[at] == '/' && end > at) out[end - 1] = source[end - 1];
    at = end;
  }
  return out;
}

// The text in braces of Python's f"..." is code.
inline void cover_braces(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t open = text.find('{', from); open < to; open = text.find('{', open + 1))
    cover(text, open, std::min(text.find('}', open), to));
}

// The delimiter of the here-document that begins at `at` ("<<EOF", "<<'EOF'", "<<-EOF"), or
// nothing.
inline std::string_view here_delimiter(std::string_view source, std::size_t at) {
  if (!source.substr(at).starts_with("<<") || (at > 0 && source[at - 1] == '<')) return {};
  std::size_t from = at + 2;
  if (from < source.size() && source[from] == '-') ++from;
  if (from < source.size() && (source[from] == '\'' || source[from] == '"')) ++from;
  std::size_t end = from;
  while (end < source.size() &&
         (std::isupper(static_cast<unsigned char>(source[end])) != 0 || source[end] == '_'))
    ++end;
  return source.substr(from, end - from);
}

// One past the last line of the here-document whose text begins at `at`.
inline std::size_t end_of_here(std::string_view source, std::size_t at,
                               std::string_view delimiter) {
  while (at < source.size()) {
    const std::size_t line_end = std::min(source.find('\n', at), source.size());
    std::string_view line = source.substr(at, line_end - at);
    line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    if (line == delimiter) return at;
    at = line_end + 1;
  }
  return source.size();
}

// Shell, Python, CMake, TOML, units, Lua: from the mark of a comment to the end of the line, and
// what is quoted in a line. Python's """...""" may be longer; in shell so may everything quoted,
// and here-documents are prose.
inline std::string prose_of_script(std::string_view source, std::string_view comment,
                                   bool is_shell) {
  std::string out(source.size(), kGap);
  std::string_view here;  // of the here-document that begins with the next line
  const auto keep = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) out[i] = is_blank(source[i]) ? ' ' : source[i];
  };
  for (std::size_t at = 0; at < source.size(); ++at) {
    const std::size_t line_end = std::min(source.find('\n', at), source.size());
    const char c = source[at];
    if (c == '\n' && !here.empty()) {
      const std::size_t end = end_of_here(source, at + 1, here);
      keep(at, end);
      at = std::min(end + here.size(), source.size()) - 1;
      here = {};
    } else if (is_shell && c == '<' && !here_delimiter(source, at).empty()) {
      here = here_delimiter(source, at);
      at = static_cast<std::size_t>(here.end() - source.begin());
      if (at == source.size() || (source[at] != '\'' && source[at] != '"')) --at;
    } else if (is_shell && c == '\\') {
      ++at;  // a quote here begins nothing
    } else if (source.substr(at).starts_with("\"\"\"")) {
      const std::size_t end = std::min(source.find("\"\"\"", at + 3), source.size() - 3);
      keep(at + 3, end);
      at = end + 2;
    } else if (source.substr(at).starts_with(comment) && (at == 0 || is_blank(source[at - 1]))) {
      keep(at + 1, line_end);
      out[at] = ' ';
      at = line_end - 1;
    } else if (c == '"' || c == '\'') {
      const std::size_t end_max = is_shell ? source.size() : line_end;
      const bool has_escapes = !is_shell || c == '"';
      std::size_t end = at + 1;
      while (end < end_max && source[end] != c) end += has_escapes && source[end] == '\\' ? 2 : 1;
      if (end >= end_max) continue;
      keep(at + 1, end);
      if (at > 0 && source[at - 1] == 'f') cover_braces(out, at, end);
      out[at] = out[end] = ' ';
      at = end;
    } else if (is_blank(c)) {
      out[at] = ' ';
    }
  }
  return out;
}

// Markdown without fenced blocks and link targets; manual pages without their requests' escapes.
inline std::string prose_of_document(std::string_view source, bool is_manual) {
  std::string out(source);
  bool is_fenced = false;
  std::size_t at = 0;
  for (const std::string_view line : lines_of(source)) {
    const bool is_fence = line.starts_with("```");
    if (is_fenced || is_fence) cover(out, at, at + line.size());
    is_fenced = is_fenced != is_fence;
    at += line.size() + 1;
  }
  for (at = out.find("]("); at != std::string::npos; at = out.find("](", at + 1))
    cover(out, at, out.find(')', at));
  for (std::size_t i = 0; i + 2 < out.size() && is_manual; ++i) {
    if (out[i] == '\\') cover(out, i, i + (out[i + 1] == 'f' ? 3 : 2), ' ');
  }
  for (at = out.find("\n\n"); at != std::string::npos; at = out.find("\n\n", at + 1))
    out[at] = kGap;  // the end of a paragraph
  return out;
}

// A picture: the text between its tags.
inline std::string prose_of_picture(std::string_view source) {
  std::string out(source);
  for (std::size_t at = out.find('<'); at != std::string::npos; at = out.find('<', at + 1))
    cover(out, at, std::min(out.find('>', at), out.size() - 1) + 1);
  return out;
}

inline bool is_script(const SourceFile& file) {
  constexpr std::array kEndings = {".sh", ".py", ".lua", ".cmake", ".toml", "CMakeLists.txt"};
  return file.text.starts_with("#!") ||
         std::any_of(kEndings.begin(), kEndings.end(),
                     [&](const char* one) { return file.ends_with(one); });
}
inline bool is_shell(const SourceFile& file) {
  const std::string_view first = std::string_view(file.text).substr(0, file.text.find('\n'));
  return file.ends_with(".sh") || (first.starts_with("#!") && first.ends_with("sh"));
}

inline std::string prose_of(const SourceFile& file) {
  const bool is_manual = file.ends_with(".8") || file.ends_with(".7") || file.ends_with(".1");
  if (file.is_cpp() || file.ends_with(".proto")) return prose_of_cpp(file.text);
  if (file.ends_with(".svg")) return prose_of_picture(file.text);
  if (file.ends_with(".md") || is_manual) {
    std::string text = file.text;
    if (!is_manual) cover_code_spans(text);
    return prose_of_document(text, is_manual);
  }
  return prose_of_script(file.text, file.ends_with(".lua") ? "-- " : "#", is_shell(file));
}

// The text of a source or script without its prose, blanks in its place; of other files nothing.
inline std::string code_of(const SourceFile& file) {
  if (!file.is_cpp() && !file.ends_with(".proto") && !is_script(file)) return {};
  std::string out = prose_of(file);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] == kGap ? file.text[i] : ' ';
  return out;
}

}  // namespace splitnic::tidy
