// The file of --key-log on a disk that becomes full: what was cut spoils no other line.
#include "control/daemon/key_log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace key_log_file_test {

using ::testing::ElementsAre;

constexpr std::uintmax_t kLineBytes = 81;

// No file of this process grows beyond this length, as on a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit full = before_;
    full.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class KeyLogFileTest : public ::testing::Test {
 protected:
  static void add(KeyLogFile& to, std::uint32_t index) {
    fabric::session::KeyLogEntry entry;
    entry.index = index;
    to.add(entry);
  }
  std::vector<std::uint32_t> read() const {
    const auto entries = read_key_log(path_);
    EXPECT_TRUE(entries) << entries.error().text();
    std::vector<std::uint32_t> indexes;
    if (!entries) return indexes;
    for (const auto& entry : *entries) indexes.push_back(entry.index);
    return indexes;
  }

  const support::TempFolder folder_;
  const std::string path_ = folder_.path("keys");
};

TEST_F(KeyLogFileTest, the_next_line_begins_behind_one_that_was_cut) {
  KeyLogFile log = KeyLogFile::open(path_).value();
  const support::LogLines lines;
  add(log, 1);
  {
    const FullDisk full(kLineBytes + 20);
    add(log, 2);
    add(log, 3);
  }
  EXPECT_EQ(lines.count("misses keys: no space is left"), 1U) << lines.text();
  ASSERT_EQ(std::filesystem::file_size(path_), kLineBytes + 20);
  EXPECT_THAT(read(), ElementsAre(1)) << "the end of the file may be cut";
  add(log, 4);
  EXPECT_EQ(std::filesystem::file_size(path_), 2 * kLineBytes + 21);
  EXPECT_THAT(read(), ElementsAre(1, 4));
  add(log, 5);
  EXPECT_THAT(read(), ElementsAre(1, 4, 5));
}

// And so does that of another queue, or of a program that starts later.
TEST_F(KeyLogFileTest, the_line_of_another_queue_begins_behind_one_that_was_cut) {
  KeyLogFile log = KeyLogFile::open(path_).value();
  KeyLogFile other = KeyLogFile::open(path_).value();
  {
    const FullDisk full(30);
    add(log, 1);
  }
  add(other, 2);
  EXPECT_THAT(read(), ElementsAre(2));
}

}  // namespace key_log_file_test
}  // namespace splitnic::control
