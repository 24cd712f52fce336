#include "control/daemon/report_exceptions.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <new>
#include <string>
#include <system_error>

#include "control/config/parse_outcome.h"

namespace splitnic::control {
namespace report_exceptions_test {

struct Ended {
  int status;
  std::string line;
};
Ended ended(const std::function<int()>& body) {
  ::testing::internal::CaptureStderr();
  const int status = report_exceptions("program", body);
  return {status, ::testing::internal::GetCapturedStderr()};
}

TEST(ReportExceptionsTest, returns_the_status) {
  const auto [status, line] = ended([] { return 7; });
  EXPECT_EQ(status, 7);
  EXPECT_EQ(line, "");
}

TEST(ReportExceptionsTest, F_52_an_exception_is_one_line) {
  const auto [status, line] = ended(
      []() -> int { throw std::system_error(EMFILE, std::generic_category(), "making a queue"); });
  EXPECT_EQ(status, kExitFailed);
  EXPECT_EQ(line, "program: making a queue: Too many open files\n");
}

TEST(ReportExceptionsTest, F_52_no_memory_is_one_line) {
  const auto [status, line] = ended([]() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(status, kExitFailed);
  EXPECT_EQ(line, "program: the system has too little memory\n");
}

}  // namespace report_exceptions_test
}  // namespace splitnic::control
