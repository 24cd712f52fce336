#include "control/sd_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <ctime>
#include <string>

#include "base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace sd_notify_test {

using support::TempFolder;

// A service manager's end: bound to `name` as NOTIFY_SOCKET would name it.
base::UniqueFd manager(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  std::size_t bytes = offsetof(sockaddr_un, sun_path) + name.size();
  if (name[0] == '@')
    address.sun_path[0] = '\0';
  else
    ++bytes;
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  EXPECT_EQ(
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(bytes)),
      0);
  return fd;
}

std::string received(const base::UniqueFd& fd) {
  char text[64];
  const ssize_t n = ::recv(fd.get(), text, sizeof(text), 0);
  return n < 0 ? "(nothing)" : std::string(text, static_cast<std::size_t>(n));
}

TEST(SdNotifyTest, path_socket) {
  const TempFolder folder;
  const auto fd = manager(folder.path("notify"));
  ASSERT_TRUE(notify(folder.path("notify"), "READY=1").has_value());
  EXPECT_EQ(received(fd), "READY=1");
}

TEST(SdNotifyTest, abstract_socket) {
  const std::string name = "@splitnic-test-" + std::to_string(::getpid());
  const auto fd = manager(name);
  ASSERT_TRUE(notify(name, "STOPPING=1").has_value());
  EXPECT_EQ(received(fd), "STOPPING=1");
}

TEST(SdNotifyTest, the_environment_names_the_socket) {
  const TempFolder folder;
  const auto fd = manager(folder.path("notify"));
  ASSERT_EQ(::setenv("NOTIFY_SOCKET", folder.path("notify").c_str(), 1), 0);
  notify_ready();
  EXPECT_EQ(received(fd), "READY=1");
  notify_stopping();
  EXPECT_EQ(received(fd), "STOPPING=1");
  notify_status("3 hosts");
  EXPECT_EQ(received(fd), "STATUS=3 hosts");
  timespec now{};
  ASSERT_EQ(::clock_gettime(CLOCK_MONOTONIC, &now), 0);
  notify_reloading();
  const std::string text = received(fd);
  const std::string begin = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_EQ(text.substr(0, begin.size()), begin);
  const std::int64_t before = now.tv_sec * 1000000 + now.tv_nsec / 1000;
  const std::int64_t sent = std::stoll(text.substr(begin.size()));
  EXPECT_GE(sent, before);
  EXPECT_LE(sent, before + 60'000'000);
  ASSERT_EQ(::unsetenv("NOTIFY_SOCKET"), 0);
  notify_ready();
  EXPECT_EQ(received(fd), "(nothing)");
}

TEST(SdNotifyTest, L_14_the_watchdog_hears_twice_in_the_time_that_it_waits) {
  ASSERT_EQ(::setenv("WATCHDOG_USEC", "20000000", 1), 0);
  EXPECT_EQ(watchdog_interval(), std::chrono::seconds(10));
  ASSERT_EQ(::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1), 0);
  EXPECT_EQ(watchdog_interval(), std::chrono::seconds(10));
  ASSERT_EQ(::setenv("WATCHDOG_PID", "1", 1), 0);
  EXPECT_FALSE(watchdog_interval()) << "it waits for another process";
  ASSERT_EQ(::unsetenv("WATCHDOG_PID"), 0);
  for (const char* text : {"", "0", "1", "x", "99999999999999999999"}) {
    ASSERT_EQ(::setenv("WATCHDOG_USEC", text, 1), 0);
    EXPECT_FALSE(watchdog_interval()) << text;
  }
  ASSERT_EQ(::unsetenv("WATCHDOG_USEC"), 0);
  EXPECT_FALSE(watchdog_interval());
}

TEST(SdNotifyTest, no_manager_is_fine_and_a_wrong_one_is_an_error) {
  EXPECT_TRUE(notify("", "READY=1").has_value());
  EXPECT_FALSE(notify("relative/path", "READY=1").has_value());
  EXPECT_FALSE(notify("@", "READY=1").has_value());
  EXPECT_FALSE(notify("/" + std::string(200, 'x'), "READY=1").has_value());
  const TempFolder folder;
  const auto status = notify(folder.path("nobody"), "READY=1");
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().text().find(folder.path("nobody")), std::string::npos);
}

}  // namespace sd_notify_test
}  // namespace splitnic::control
