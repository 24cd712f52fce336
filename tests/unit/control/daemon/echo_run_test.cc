// The round trips of `splitnic ping`, with requests that the test holds open.
#include "control/daemon/echo_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "control/report/ping_json.h"

namespace splitnic::control {
namespace echo_run_test {

using namespace std::chrono_literals;

class EchoRunTest : public ::testing::Test {
 protected:
  void start(std::uint32_t count) {
    EchoRun::start(
        count, clock,
        [this](EchoRun::Done done) {
          if (!may_send) return false;
          open.push_back(std::move(done));
          ++sent;
          return true;
        },
        [this](Reply with) { reply = std::move(with); });
  }
  void end_echo(base::Duration after, bool is_replied) {
    clock.advance(after);
    const EchoRun::Done done = std::move(open.back());
    open.pop_back();
    done(is_replied);
  }

  base::ManualClock clock;
  bool may_send = true;
  int sent = 0;
  std::vector<EchoRun::Done> open;
  std::optional<Reply> reply;
};

TEST_F(EchoRunTest, sends_one_after_the_other_and_reports_their_times) {
  start(3);
  end_echo(100us, true);
  end_echo(300us, true);
  EXPECT_FALSE(reply);
  EXPECT_EQ(sent, 3);
  end_echo(200us, true);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, ReplyStatus::kOk);
  EXPECT_EQ(ping_text(parse_ping_json(reply->text).value()),
            "3 sent, 3 replied, min 100.0 us, median 200.0 us, max 300.0 us\n");
  EXPECT_TRUE(open.empty());
}

TEST_F(EchoRunTest, the_first_without_a_reply_is_the_last) {
  start(5);
  end_echo(100us, true);
  end_echo(1s, false);
  ASSERT_TRUE(reply);
  EXPECT_EQ(ping_text(parse_ping_json(reply->text).value()),
            "2 sent, 1 replied, min 100.0 us, median 100.0 us, max 100.0 us\n");
  EXPECT_EQ(sent, 2);
}

TEST_F(EchoRunTest, without_any_reply_it_fails) {
  start(5);
  end_echo(1s, false);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, ReplyStatus::kFailed);
  EXPECT_EQ(reply->text,
            "no reply from the other side: check that its program runs and that the link is up");
}

TEST_F(EchoRunTest, what_cannot_be_sent_ends_it) {
  may_send = false;
  start(1);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, ReplyStatus::kFailed);
}

}  // namespace echo_run_test
}  // namespace splitnic::control
