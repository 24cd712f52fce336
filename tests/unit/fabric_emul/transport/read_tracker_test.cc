#include "fabric_emul/transport/read_tracker.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::testing::read_tracker_test {

using namespace std::chrono_literals;

ReadSink sink(std::uint64_t no, std::uint32_t cells) {
  ReadSink s;
  s.wqe_no = no;
  s.psn = Psn(static_cast<std::uint32_t>(no));
  s.request_lcn = Lcn(static_cast<std::uint32_t>(no));
  s.cells = cells;
  s.is_here.assign(cells, false);
  return s;
}

TEST(ReadTrackerTest, open_reads_and_their_cells_are_bounded) {
  ReadTracker reads;
  reads.reserve(2);
  EXPECT_FALSE(reads.permits(1, 0, 1000));
  EXPECT_TRUE(reads.permits(2000, 2, 10)) << "one read may always be open";
  reads.open(sink(0, 8));
  EXPECT_TRUE(reads.permits(2, 2, 10));
  EXPECT_FALSE(reads.permits(3, 2, 10));
  EXPECT_FALSE(reads.permits(1, 1, 10));
  reads.open(sink(1, 2));
  EXPECT_FALSE(reads.permits(1, 3, 100)) << "no place is left";
  reads.reserve(3);
  EXPECT_TRUE(reads.permits(1, 3, 100));
  EXPECT_EQ(reads.find(Psn(1))->wqe_no, 1U) << "open reads are kept";
}

TEST(ReadTrackerTest, a_work_request_waits_until_its_response_is_whole) {
  ReadTracker reads;
  reads.open(sink(5, 2));
  EXPECT_TRUE(reads.waits_for(5));
  EXPECT_FALSE(reads.waits_for(6));
  ReadSink* open = reads.find(Psn(5));
  open->take(1);
  EXPECT_EQ(open->missing, 0U);
  open->take(0);
  EXPECT_EQ(open->missing, 2U);
  EXPECT_FALSE(reads.waits_for(5));
  reads.close(4);
  EXPECT_FALSE(reads.empty());
  reads.close(5);
  EXPECT_TRUE(reads.empty());
}

TEST(ReadTrackerTest, a_late_response_makes_its_request_due) {
  ReadTracker reads;
  reads.reserve(2);
  reads.open(sink(1, 1));
  reads.open(sink(2, 1));
  const base::Time now = base::Time{} + 20ms;
  EXPECT_EQ(reads.deadline(1, 10ms), base::kNever) << "the request is not acknowledged";
  EXPECT_EQ(reads.deadline(2, 10ms), base::Time{} + 10ms);
  reads.on_timeout(2, now);
  ASSERT_TRUE(reads.has_request_due());
  EXPECT_EQ(reads.with_request_due()->wqe_no, 1U);
  reads.with_request_due()->has_request_due = false;
  EXPECT_FALSE(reads.has_request_due()) << "the second request is not acknowledged";
  EXPECT_EQ(reads.deadline(3, 10ms), now + 10ms);
}

}  // namespace splitnic::fabric::testing::read_tracker_test
