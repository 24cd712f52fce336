// The files that a side process can read: it has the user of the program, whose keys it must not.
#include "control/daemon/side_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>

#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace {

// Returns "yes" or "no", from the process.
std::string can_read(const std::optional<sandbox::Needs>& kept, const std::string& path) {
  auto process = SideProcess::begin("test", kept, [&](SideProcess::Channel channel) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    channel.send(fd >= 0 ? "yes" : "no");
    static_cast<void>(channel.receive());
  });
  if (!process) return process.error().text();
  for (int tries = 0; tries < 500; ++tries) {
    if (const auto packet = (*process)->receive()) return *packet;
    ::poll(nullptr, 0, 10);
  }
  return "nothing";
}

TEST(SideProcessTest, M_9_what_parses_the_packets_of_strangers_reads_no_file) {
  const support::TempFolder folder;
  const std::string key = folder.path("key");
  ASSERT_GE(::close(::open(key.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
  EXPECT_EQ(can_read(std::nullopt, key), "yes");
  EXPECT_EQ(can_read(SideProcess::reads_no_files(true), key), "no");
  EXPECT_EQ(can_read(SideProcess::reads_no_files(true), "/etc/passwd"), "no");
  EXPECT_EQ(can_read(SideProcess::reads_no_files(false), key), "yes");
}

}  // namespace
}  // namespace splitnic::control
