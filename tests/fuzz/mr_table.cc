#include <vector>

#include "base/check.h"
#include "base/endian.h"
#include "tests/fuzz/targets.h"
#include "tests/support/mr_table_model.h"

namespace splitnic::fuzz {

void mr_table(base::Bytes in) {
  constexpr std::size_t kStepsMax = 512;
  static test::MrTableModel model;
  std::vector<std::uint64_t> words;
  for (std::size_t at = 0; at + 8 <= in.size() && words.size() < kStepsMax; at += 8) {
    words.push_back(base::load_be<std::uint64_t>(in.data() + at));
  }
  CHECK(model.run(words).empty());
}

}  // namespace splitnic::fuzz
