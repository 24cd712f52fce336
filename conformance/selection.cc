#include "conformance/selection.h"

#include <algorithm>
#include <utility>

namespace splitnic::conformance {
namespace {

bool matches(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
    if (matches(text.substr(skipped), pattern)) return true;
  }
  return false;
}

}  // namespace

bool is_named(const Case& one, std::string_view pattern) {
  return one.group() == pattern || matches(one.id, pattern);
}

std::vector<Selected> select(std::vector<Case> all, const std::vector<std::string>& wanted,
                             const std::map<std::string, std::string>& skips) {
  std::vector<Selected> selected;
  for (Case& one : all) {
    const auto names_it = [&](const std::string& pattern) { return is_named(one, pattern); };
    if (!wanted.empty() && std::ranges::none_of(wanted, names_it)) continue;
    Selected chosen;
    for (const auto& [pattern, why] : skips) {
      if (names_it(pattern)) chosen.skipped_because = why;
    }
    chosen.about = std::move(one);
    selected.push_back(std::move(chosen));
  }
  return selected;
}

}  // namespace splitnic::conformance
