// Applies the table of word_list.h to the prose and the identifiers of the tree.
#pragma once

#include <cctype>
#include <map>
#include <optional>
#include <unordered_map>

#include "tests/tidy/prose.h"
#include "tests/tidy/word_list.h"

namespace splitnic::tidy {

// Files that hold these words on purpose.
inline constexpr std::array<std::string_view, 2> kWordSamples = {"tests/tidy/word_list.h",
                                                                 "tests/tidy/word_rules_test.cc"};

struct Word {
  std::string text;    // lower case
  std::size_t offset;  // in the file
  bool is_joined;      // only blanks lie between the word before and this one
};

inline bool is_word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

inline char lower_case(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// "reader's" is one word; in 'reader' the quotes are no letters.
inline bool is_apostrophe(std::string_view prose, std::size_t at) {
  return prose[at] == '\'' && at > 0 && is_word_letter(prose[at - 1]) && at + 1 < prose.size() &&
         is_word_letter(prose[at + 1]);
}

// A name in prose is the words between its '_', with the offset of the name.
inline std::vector<Word> words_of_prose(std::string_view prose) {
  std::vector<Word> words;
  bool is_joined = false;
  for (std::size_t at = 0; at < prose.size();) {
    if (!is_word_letter(prose[at])) {
      is_joined = is_joined && (is_blank(prose[at]) || prose[at] == '-');
      ++at;
      continue;
    }
    Word word{{}, at, is_joined};
    const std::size_t begin = at;
    for (; at < prose.size() && (is_word_letter(prose[at]) || is_apostrophe(prose, at)); ++at) {
      if (prose[at] != '_') {
        word.text += lower_case(prose[at]);
      } else if (!word.text.empty()) {
        words.push_back(std::exchange(word, {{}, begin, true}));
      }
    }
    if (!word.text.empty()) words.push_back(std::move(word));
    is_joined = true;
  }
  return words;
}

// The words of one identifier: at '_' and where capitals begin; without a constant's k.
inline std::vector<Word> words_of_name(std::string_view name, std::size_t offset) {
  std::vector<Word> words;
  const auto is_upper = [&](std::size_t at) {
    return at < name.size() && std::isupper(static_cast<unsigned char>(name[at])) != 0;
  };
  std::size_t at = name.front() == 'k' && is_upper(1) ? 1 : 0;
  for (; at < name.size(); ++at) {
    if (name[at] == '_') continue;
    const bool is_new = words.empty() || name[at - 1] == '_' ||
                        (is_upper(at) && (!is_upper(at - 1) || !is_upper(at + 1)));
    if (is_new) words.push_back({{}, offset, !words.empty()});
    words.back().text += lower_case(name[at]);
  }
  return words;
}

class WordMatcher {
 public:
  explicit WordMatcher(const WordRule& rule) : rule_(&rule), phrase_(parse(rule.phrase)) {
    std::string_view rest = rule.allowed;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find("; "), rest.size());
      allowed_.push_back(parse(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
  }
  const WordRule& rule() const { return *rule_; }

  bool begins_with(std::string_view word) const { return is_one_of(word, phrase_.front()); }

  // True if the phrase stands at words[at] and no allowed one does.
  bool matches(const std::vector<Word>& words, std::size_t at) const {
    if (!stands(phrase_, words, at)) return false;
    const std::size_t last = at + phrase_.size() - 1;
    // An allowed phrase begins with the first word of the banned one, or with its last.
    return std::none_of(allowed_.begin(), allowed_.end(), [&](const Phrase& phrase) {
      return stands(phrase, words, at) || stands(phrase, words, last);
    });
  }
  std::size_t size() const { return phrase_.size(); }

 private:
  using Phrase = std::vector<std::vector<std::string_view>>;  // the alternatives of each word

  static std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t end = std::min(text.find(at, from), text.size());
      parts.push_back(text.substr(from, end - from));
      from = end + 1;
    }
    return parts;
  }

  static Phrase parse(std::string_view text) {
    Phrase phrase;
    for (const std::string_view word : split(text, ' ')) phrase.push_back(split(word, '|'));
    return phrase;
  }

  static bool is_one_of(std::string_view word, const std::vector<std::string_view>& alternatives) {
    return std::any_of(alternatives.begin(), alternatives.end(), [&](std::string_view alternative) {
      if (!alternative.ends_with('*')) return word == alternative;
      return word.starts_with(alternative.substr(0, alternative.size() - 1));
    });
  }

  static bool stands(const Phrase& phrase, const std::vector<Word>& words, std::size_t at) {
    if (at + phrase.size() > words.size()) return false;
    for (std::size_t i = 0; i < phrase.size(); ++i) {
      if (i > 0 && !words[at + i].is_joined) return false;
      if (!is_one_of(words[at + i].text, phrase[i])) return false;
    }
    return true;
  }

  const WordRule* rule_;
  Phrase phrase_;
  std::vector<Phrase> allowed_;
};

class WordChecker {
 public:
  // Names of tests are sentences.
  static constexpr std::size_t kSentenceWords = 5;

  WordChecker() {
    for (const WordRule& rule : kWordList) matchers_.emplace_back(rule);
  }

  Findings check(const SourceFile& file) {
    file_ = &file;
    findings_.clear();
    line_ = 1;
    line_at_ = 0;
    look(words_of_prose(prose_of(file)), kProse);
    line_ = 1;
    line_at_ = 0;
    check_names(code_of(file));
    return findings_;
  }

 private:
  void check_names(std::string_view code) {
    for (std::size_t at = 0; at < code.size();) {
      if (!is_word_letter(code[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < code.size() && is_word_letter(code[end])) ++end;
      const std::string_view name = code.substr(at, end - at);
      if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) {
        const std::vector<Word> words = words_of_name(name, at);
        const bool is_sentence = file_->below("tests") && words.size() >= kSentenceWords;
        look(words, is_sentence ? kProse : kCode);
      }
      at = end;
    }
  }

  void look(const std::vector<Word>& words, WordPlace place) {
    for (std::size_t at = 0; at < words.size(); ++at) {
      for (const WordMatcher* matcher : candidates(words[at].text)) {
        const WordRule& rule = matcher->rule();
        if (!applies(rule, place) || !matcher->matches(words, at)) continue;
        if (is_proper_name(words[at].offset)) continue;
        if ((rule.where & kWholeName) != 0 && words.size() != matcher->size()) continue;
        findings_.push_back(finding(
            *file_, line_of(words[at].offset),
            "\"" + text_of(words, at, matcher->size()) + "\": write " + std::string(rule.instead)));
      }
    }
  }

  // A proper name that begins with a quote is the whole of a literal.
  bool is_proper_name(std::size_t offset) const {
    const std::string_view text = file_->text;
    return std::any_of(kProperNames.begin(), kProperNames.end(), [&](std::string_view name) {
      const std::size_t at = name.starts_with('"') && offset > 0 ? offset - 1 : offset;
      const std::size_t end = at + name.size();
      return text.substr(at).starts_with(name) &&
             (end == text.size() || name.ends_with('"') || !is_word_letter(text[end]));
    });
  }

  bool applies(const WordRule& rule, WordPlace place) const {
    if ((rule.where & place) == 0) return false;
    if ((rule.where & kNotWirePages) != 0 && file_->below("docs/protocol")) return false;
    const bool is_test = file_->below("tests");
    if ((rule.where & kNotTests) != 0 && is_test) return false;
    const bool is_of_benches = file_->below("tests/bench") || file_->below("tests/unit/tools") ||
                               file_->path == "tests/CMakeLists.txt";
    return (rule.where & kTestsOnly) == 0 || (is_test && !is_of_benches);
  }

  // The rules whose first word this may be; looked up once per word.
  const std::vector<const WordMatcher*>& candidates(const std::string& word) {
    const auto [entry, is_new] = candidates_.try_emplace(word);
    if (!is_new) return entry->second;
    for (const WordMatcher& matcher : matchers_) {
      if (matcher.begins_with(word)) entry->second.push_back(&matcher);
    }
    return entry->second;
  }

  static std::string text_of(const std::vector<Word>& words, std::size_t at, std::size_t count) {
    std::string text = words[at].text;
    for (std::size_t i = 1; i < count; ++i) text += " " + words[at + i].text;
    return text;
  }

  std::size_t line_of(std::size_t offset) {  // offsets rise within a pass
    const auto from = file_->text.begin() + static_cast<std::ptrdiff_t>(line_at_);
    const auto to = file_->text.begin() + static_cast<std::ptrdiff_t>(offset);
    line_ += static_cast<std::size_t>(std::count(from, to, '\n'));
    line_at_ = offset;
    return line_;
  }

  std::vector<WordMatcher> matchers_;
  std::unordered_map<std::string, std::vector<const WordMatcher*>> candidates_;
  const SourceFile* file_ = nullptr;
  Findings findings_;
  std::size_t line_ = 1;
  std::size_t line_at_ = 0;
};

// Headings and head comments are sentences or names, never a clause such as "What it does" or
// "Which host may attach".
inline Findings check_headings(const SourceFile& file) {
  Findings findings;
  std::size_t number = 0;
  for (std::string_view line : lines_of(file.text)) {
    ++number;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    static constexpr std::array<std::string_view, 7> kClauses = {
        "// Which ", "// How ", "// Who ", "// Where ", "// When ", "// Why ", "// Whether "};
    const bool is_head = number == 1 && std::ranges::any_of(kClauses, [&](auto one) {
                           return line.starts_with(one);
                         });
    const bool is_comment = file.is_cpp() && (line.starts_with("// What ") || is_head);
    const std::size_t level = file.ends_with(".md") ? line.find_first_not_of('#') : 0;
    const bool is_heading =
        level != std::string_view::npos && level > 0 &&
        (line.substr(level).starts_with(" What ") || line.substr(level).starts_with(" Where "));
    if (is_comment || is_heading)
      findings.push_back(finding(file, number, "a clause: write a sentence or a name"));
  }
  return findings;
}

inline Findings check_words(const SourceTree& tree) {
  WordChecker checker;
  Findings findings;
  for (const SourceFile& file : tree) {
    if (is_one_of(file, kWordSamples)) continue;
    for (std::string& one : checker.check(file)) findings.push_back(std::move(one));
    for (std::string& one : check_headings(file)) findings.push_back(std::move(one));
  }
  return findings;
}

// The words of the glossary's right-hand column.
inline std::vector<std::string> glossary_bans(std::string_view page) {
  std::vector<std::string> bans;
  for (const std::string_view line : lines_of(page)) {
    if (!line.starts_with("| ") || !line.ends_with(" |")) continue;
    const std::size_t column = line.rfind("| ", line.size() - 2);
    std::string word;
    for (const char c : line.substr(column + 2)) {
      if (c == ',' || c == '|') {
        while (word.ends_with(' ')) word.pop_back();
        if (!word.empty() && word != "not") bans.push_back(word);
        word.clear();
      } else if (c != '`' && (c != ' ' || !word.empty())) {
        word += c;
      }
    }
  }
  return bans;
}

// Words that the glossary rejects and that no rule finds.
inline Findings check_glossary(std::string_view page) {
  Findings findings;
  for (const std::string& word : glossary_bans(page)) {
    std::string name = word;
    std::replace(name.begin(), name.end(), ' ', '_');
    const SourceTree prose = {{"base/log.cc", "// " + word + "\n"}};
    const SourceTree code = {{"tests/support/reader.h", name + "\n"}};
    if (check_words(prose).empty() && check_words(code).empty())
      findings.push_back("docs/GLOSSARY.md: no rule finds \"" + word + "\"");
  }
  return findings;
}

}  // namespace splitnic::tidy
