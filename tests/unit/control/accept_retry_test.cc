#include "control/socket/accept_retry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <string>

namespace splitnic::control {
namespace accept_retry_test {

class AcceptRetryTest : public ::testing::Test {
 protected:
  // Returns the lines of the log.
  int refuse() {
    ::testing::internal::CaptureStderr();
    retry_.accept_later(boost::asio::error::no_descriptors, [this] { ++accepts_; });
    io_.restart();
    io_.run();
    const std::string log = ::testing::internal::GetCapturedStderr();
    return static_cast<int>(std::count(log.begin(), log.end(), '\n'));
  }

  boost::asio::io_context io_;
  AcceptRetry retry_{io_, "server"};
  int accepts_ = 0;
};

TEST_F(AcceptRetryTest, F_52_it_accepts_again_and_reports_once) {
  EXPECT_EQ(refuse(), 1);
  EXPECT_EQ(refuse(), 0);
  EXPECT_EQ(accepts_, 2);
  retry_.accepted();
  EXPECT_EQ(refuse(), 1);
  EXPECT_EQ(accepts_, 3);
}

TEST_F(AcceptRetryTest, not_after_it_was_cancelled) {
  retry_.accept_later(boost::asio::error::no_descriptors, [this] { ++accepts_; });
  retry_.cancel();
  io_.run();
  EXPECT_EQ(accepts_, 0);
}

}  // namespace accept_retry_test
}  // namespace splitnic::control
