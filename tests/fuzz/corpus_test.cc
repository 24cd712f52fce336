// Replays every file of tests/fuzz/corpus through its target, in every preset; with sanitizers this
// is the regression test of what fuzzing has found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/targets.h"

namespace splitnic::fuzz::corpus_test {

class FuzzCorpusTest : public testing::TestWithParam<Target> {};

// Exactly sized, so that a sanitizer sees a read past the end.
std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const base::Bytes bytes = base::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// An input and each of its beginnings: a target takes anything.
TEST_P(FuzzCorpusTest, replay) {
  const auto folder = std::filesystem::path(SPLITNIC_FUZZ_CORPUS) / GetParam().name;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    const std::vector<std::byte> bytes = bytes_of(entry.path());
    ASSERT_FALSE(bytes.empty());
    GetParam().run(bytes);
    const std::size_t step = bytes.size() / 256 + 1;
    for (std::size_t size = 0; size < bytes.size(); size += step) {
      const std::vector<std::byte> cut(bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      GetParam().run(cut);
    }
    ++files;
  }
  EXPECT_GE(files, 4U);
}

INSTANTIATE_TEST_SUITE_P(AllTargets, FuzzCorpusTest, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace splitnic::fuzz::corpus_test
