// The table of docs/protocol/vectors/README.md has each file, with how many vectors are in it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/vectors/vector_file.h"

namespace splitnic::support {
namespace readme_test {

const std::set<std::string> kNoVectors{"schema.json"};

TEST(VectorReadme, each_file_has_its_row_with_its_counts) {
  const std::filesystem::path folder = tidy::find_root() / "docs/protocol/vectors";
  std::ifstream file(folder / "README.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json" || kNoVectors.contains(name)) continue;
    const auto vectors = load_vectors(entry.path().stem().string());
    const auto valid = std::ranges::count_if(vectors, &Vector::is_valid);
    const auto all = static_cast<std::ptrdiff_t>(vectors.size());
    const std::string row = "| [" + name + "](" + name + ") | " + std::to_string(valid) + " | " +
                            std::to_string(all - valid) + " | ";
    EXPECT_NE(page.find(row), std::string::npos) << row;
    ++rows;
  }
  std::size_t listed = 0;
  for (std::size_t at = page.find("| ["); at != std::string::npos; at = page.find("| [", at + 1)) {
    ++listed;
  }
  EXPECT_EQ(listed, rows);
}

}  // namespace readme_test
}  // namespace splitnic::support
