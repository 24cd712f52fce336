#include "conformance/cases/spacing.h"

#include <algorithm>
#include <vector>

namespace splitnic::conformance {

std::optional<base::Duration> median_spacing(End& end, unsigned times,
                                             const std::function<bool()>& await_next) {
  std::vector<base::Duration> gaps;
  if (!await_next()) return std::nullopt;
  for (base::Time before = end.now(); gaps.size() + 1 < times;) {
    if (!end.is_good() || !await_next()) return std::nullopt;
    gaps.push_back(end.now() - before);
    before = end.now();
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  return *middle;
}

}  // namespace splitnic::conformance
