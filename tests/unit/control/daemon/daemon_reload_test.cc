// SIGHUP and reload, from the control thread to the program and the service manager.
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"
#include "tests/unit/control/daemon/daemon_fixture.h"

namespace splitnic::control {
namespace daemon_test {

using ::testing::StartsWith;

TEST_F(DaemonTest, reload_and_sighup_reach_the_program_that_can_reload) {
  may_reload_ = true;
  start();
  EXPECT_EQ(ask(request(Command::kReload)), (Reply{ReplyStatus::kOk, "reloaded\n"}));
  EXPECT_EQ(daemon_->reloads, 1);
  for (int expected = 2; expected < 4; ++expected) {
    ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
    while (daemon_->reloads < expected) std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, B_04_the_service_manager_waits_for_the_end_of_a_reload) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, folder_.path("notify").c_str(), sizeof(address.sun_path) - 1);
  const base::UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const auto heard = [&manager] {
    std::array<char, 128> text{};
    const ssize_t n = ::recv(manager.get(), text.data(), text.size(), 0);
    return std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  };
  ASSERT_EQ(::setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
  may_reload_ = true;
  start();
  EXPECT_EQ(heard(), "READY=1");
  EXPECT_EQ(ask(request(Command::kReload)).status, ReplyStatus::kOk);
  EXPECT_THAT(heard(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(heard(), "READY=1");
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(heard(), "STOPPING=1");
  ASSERT_EQ(::unsetenv("NOTIFY_SOCKET"), 0);
}

TEST_F(DaemonTest, reload_is_refused_by_a_program_that_has_nothing_to_reload) {
  start();
  EXPECT_EQ(ask(request(Command::kReload)).status, ReplyStatus::kBadRequest);
  EXPECT_EQ(stop(), 0);
}

}  // namespace daemon_test
}  // namespace splitnic::control
