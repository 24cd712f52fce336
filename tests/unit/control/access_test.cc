// Tests the access of users to a program, and the times when it serves them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>

#include "control/control_thread.h"
#include "control/socket/client.h"
#include "tests/support/child.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace access_test {

using namespace std::chrono_literals;
using support::TempFolder;

constexpr auto kPatience = 60s;
const Request kShow{Command::kShow, false, {}, {}, 0};

Request set_mac() { return {Command::kSet, false, "mac", "1", 0}; }
void accept_all(const Request& /*request*/, const ReplyFunction& reply) {
  reply({ReplyStatus::kOk, ""});
}

// A user who may connect, as a member of the group does.
TEST(AccessTest, M_9_another_user_may_look_but_neither_change_nor_capture) {
  constexpr uid_t kNobody = 65534;
  const TempFolder folder;
  const std::string path = folder.path("a.sock");
  CommandQueue queue;
  auto control = ControlThread::open(path, queue, accept_all).value();
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const auto ask_as_nobody = [&] {
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return 1;
    auto client = Client::connect(path).value();
    const auto status_of = [&](const Request& request) {
      return client.ask(request, kPatience).value().status;
    };
    for (const Command command : {Command::kShow, Command::kStats, Command::kPing, Command::kPeers})
      if (status_of({command, false, {}, {}, 1}) != ReplyStatus::kOk) return 2;
    const auto about_nic = [](const char* what, const char* value) {
      return Request{Command::kNic, false, what, value, 0, "nic0"};
    };
    if (status_of(about_nic("statistics", "")) != ReplyStatus::kOk) return 2;
    for (const char* change : {"reset", "clear-statistics"}) {
      if (status_of(about_nic(change, "")) != ReplyStatus::kRefused) return 3;
    }
    if (status_of(about_nic("vlan-add", "10")) != ReplyStatus::kRefused) return 3;
    if (status_of(set_mac()) != ReplyStatus::kRefused) return 3;
    if (status_of({Command::kEvict, false, {}, "lab", 0}) != ReplyStatus::kRefused) return 4;
    if (status_of({Command::kReload, false, {}, {}, 0}) != ReplyStatus::kRefused) return 5;
    for (const Command command : {Command::kCapture, Command::kEndCapture}) {
      if (status_of({command, false, {}, {}, 1}) != ReplyStatus::kRefused) return 7;
    }
    return status_of(kShow) == ReplyStatus::kOk ? 0 : 6;
  };
  const auto serve_while = [&](auto function) {
    auto asking = std::async(std::launch::async, std::move(function));
    while (asking.wait_for(1ms) != std::future_status::ready) queue.run();
    return asking.get();
  };
  // The child is made before there is a thread: it waits for the replies of this process.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(ask_as_nobody());
  ASSERT_TRUE(control->start().has_value());
  const int result = serve_while([child] { return support::status_of(child); });
  EXPECT_EQ(result, 0);
  auto client = Client::connect(path).value();
  const auto reply = serve_while([&] { return client.ask(set_mac(), kPatience); });
  EXPECT_EQ(reply.value().status, ReplyStatus::kOk) << "the user of the program may";
}

TEST(AccessTest, clients_wait_for_the_thread) {
  const TempFolder folder;
  CommandQueue queue;
  auto control = ControlThread::open(folder.path("a.sock"), queue, accept_all).value();
  auto client = Client::connect(folder.path("a.sock")).value();
  EXPECT_FALSE(client.ask(kShow, 10ms).has_value());
  std::atomic<bool> was_first = false;
  ASSERT_TRUE(control->start([&] { was_first = true; }).has_value());
  auto later = Client::connect(folder.path("a.sock")).value();
  auto reply = std::async(std::launch::async, [&] { return later.ask(kShow, kPatience); });
  while (reply.wait_for(1ms) != std::future_status::ready) queue.run();
  EXPECT_TRUE(reply.get().has_value());
  EXPECT_TRUE(was_first);
}

}  // namespace access_test
}  // namespace splitnic::control
