// Stamps grow across processes and clocks that were set back.
#include "control/daemon/stamps.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace {

struct Wall {
  std::uint64_t now = 1'700'000'000'000;
};

Stamps stamps_at(const Wall& wall, const std::string& path) {
  return Stamps(path, [&wall] { return wall.now; });
}

TEST(StampsTest, F_50_they_grow_while_the_clock_jumps) {
  Wall wall;
  Stamps stamps = stamps_at(wall, "");
  std::uint64_t last = 0;
  for (const std::int64_t jump : {0, 0, 1, -3'600'000, 7, 7'200'000, -100'000'000, 0}) {
    wall.now += static_cast<std::uint64_t>(jump);
    const std::uint64_t stamp = stamps.next();
    EXPECT_GT(stamp, last);
    last = stamp;
  }
}

TEST(StampsTest, F_50_a_process_with_a_clock_of_1970_continues_behind_the_last) {
  const support::TempFolder folder;
  const std::string path = folder.path("stamp.0");
  Wall wall;
  std::uint64_t last = 0;
  for (int process = 0; process < 5; ++process) {
    Stamps stamps = stamps_at(wall, path);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t stamp = stamps.next();
      EXPECT_GT(stamp, last);
      last = stamp;
      wall.now += 777;
    }
    wall.now = 5;
  }
  // The reserve is a minute, so a lost file is made good by a clock that is right.
  std::uint64_t kept = 0;
  std::ifstream(path) >> kept;
  EXPECT_GT(kept, last);
  EXPECT_LE(kept, last + Stamps::kReserved);
}

TEST(StampsTest, a_file_that_holds_something_else_or_cannot_be_written_is_ignored) {
  const support::TempFolder folder;
  std::ofstream(folder.path("bad")) << "x";
  const Wall wall;
  EXPECT_EQ(stamps_at(wall, folder.path("bad")).next(), wall.now);
  Stamps nowhere = stamps_at(wall, folder.path("none/stamp"));
  EXPECT_EQ(nowhere.next(), wall.now);
  EXPECT_EQ(nowhere.next(), wall.now + 1);
}

// A program that ends again and again, each time with the clock a second further.
TEST(StampsTest, F_50_restarts_do_not_lead_away_from_the_clock) {
  const support::TempFolder folder;
  const std::string path = folder.path("stamp.0");
  Wall wall;
  std::uint64_t last = 0;
  for (int process = 0; process < 1000; ++process) {
    const std::uint64_t stamp = stamps_at(wall, path).next();
    EXPECT_GT(stamp, last);
    last = stamp;
    wall.now += 1001;
  }
  EXPECT_LE(last, wall.now + Stamps::kReserved);
}

TEST(StampsTest, a_file_that_cannot_be_read_is_one_line_and_a_missing_one_none) {
  const support::TempFolder folder;
  const Wall wall;
  ::testing::internal::CaptureStderr();
  stamps_at(wall, folder.path("none"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  std::ofstream(folder.path("bad")) << "x";
  ::testing::internal::CaptureStderr();
  stamps_at(wall, folder.path("bad"));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot read"), std::string::npos);
}

// The kernel refuses to open it, as it does while a program has no descriptor left.
TEST(StampsTest, F_52_a_file_that_cannot_be_read_now_is_not_replaced) {
  const support::TempFolder folder;
  const std::string path = folder.path("stamp.0");
  ASSERT_EQ(::symlink(path.c_str(), path.c_str()), 0);
  Wall wall;
  Stamps stamps = stamps_at(wall, path);
  EXPECT_EQ(stamps.next(), wall.now);
  EXPECT_EQ(stamps.next(), wall.now + 1);
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST(StampsTest, the_file_lies_in_the_state_folder) {
  ASSERT_EQ(::unsetenv("STATE_DIRECTORY"), 0);
  EXPECT_EQ(stamp_path(0), "");
  ASSERT_EQ(::setenv("STATE_DIRECTORY", "/var/lib/splitnic/a:/var/lib/b", 1), 0);
  EXPECT_EQ(stamp_path(2), "/var/lib/splitnic/a/stamp.2");
  ASSERT_EQ(::unsetenv("STATE_DIRECTORY"), 0);
}

}  // namespace
}  // namespace splitnic::control
