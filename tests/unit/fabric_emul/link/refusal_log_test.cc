// Tests which refusals of a link are worth a line.
#include "fabric_emul/link/refusal_log.h"

#include <gtest/gtest.h>

namespace splitnic::fabric {
namespace refusal_log_test {

using namespace std::chrono_literals;

// Refuses every 200 ms in this span and returns the number of lines.
int lines(RefusalLog& log, InitReason reason, base::Time begin, base::Duration span) {
  int found = 0;
  for (base::Time at = begin; at < begin + span; at += 200ms) found += log.note(reason, at) ? 1 : 0;
  return found;
}

const base::Time kBegin{1000s};

TEST(RefusalLogTest, B_02_each_reason_is_one_line) {
  RefusalLog log;
  EXPECT_EQ(lines(log, InitReason::kBusy, kBegin, 1h), 1);
  EXPECT_EQ(lines(log, InitReason::kVersion, kBegin + 1h, 1h), 1);
  EXPECT_EQ(lines(log, InitReason::kBusy, kBegin + 2h, 1h), 1);
}

TEST(RefusalLogTest, B_02_a_duplicate_is_a_line_if_it_lasts) {
  RefusalLog log;
  EXPECT_EQ(lines(log, InitReason::kDuplicate, kBegin, RefusalLog::kDuplicateFor), 0);
  EXPECT_EQ(lines(log, InitReason::kDuplicate, kBegin + RefusalLog::kDuplicateFor, 1min), 1);
}

// A process that is started again now and then is no copy.
TEST(RefusalLogTest, B_02_a_gap_begins_another_occasion) {
  RefusalLog log;
  for (base::Time at = kBegin; at < kBegin + 10min; at += 1min) {
    EXPECT_EQ(lines(log, InitReason::kDuplicate, at, 400ms), 0);
  }
  EXPECT_EQ(lines(log, InitReason::kBusy, kBegin + 1h, 1s), 1);
  EXPECT_EQ(lines(log, InitReason::kBusy, kBegin + 2h, 1s), 1);
}

}  // namespace refusal_log_test
}  // namespace splitnic::fabric
