// SIGHUP and reload, from the control thread to the program and the service manager.
#include "tests/unit/control/daemon/daemon_fixture.h"

namespace splitnic::control {
namespace daemon_test {

using ::testing::HasSubstr;
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
  TestManager manager(folder_.path("notify"));
  may_reload_ = true;
  start();
  EXPECT_EQ(manager.heard(), "READY=1");
  EXPECT_EQ(ask(request(Command::kReload)).status, ReplyStatus::kOk);
  EXPECT_THAT(manager.heard(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(manager.heard(), "READY=1");
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(manager.heard(), "STOPPING=1");
}

TEST_F(DaemonTest, B_04_the_service_manager_hears_of_a_reload_while_the_program_waits) {
  TestManager manager(folder_.path("notify"));
  may_reload_ = waits_ = true;
  start();
  EXPECT_EQ(manager.heard(), "READY=1");
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  EXPECT_THAT(manager.heard(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(manager.heard(), "READY=1");
  const Reply refused = ask(request(Command::kReload));
  EXPECT_EQ(refused.status, ReplyStatus::kFailed);
  EXPECT_THAT(refused.text, HasSubstr("the program is starting"));
  EXPECT_THAT(manager.heard(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(manager.heard(), "READY=1");
  EXPECT_EQ(daemon_->reloads, 0);
  daemon_->waits = false;
  EXPECT_EQ(manager.heard(), "READY=1") << "it is up";
  EXPECT_EQ(ask(request(Command::kReload)).status, ReplyStatus::kOk);
  EXPECT_EQ(daemon_->reloads, 1);
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, reload_is_refused_by_a_program_that_has_nothing_to_reload) {
  start();
  EXPECT_EQ(
      ask(request(Command::kReload)),
      (Reply{ReplyStatus::kBadRequest, "nothing is read again here: start the program again"}));
  EXPECT_EQ(stop(), 0);
}

}  // namespace daemon_test
}  // namespace splitnic::control
