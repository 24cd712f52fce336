// FetchOps and reads of `splitnic bench`: each FetchOp is executed once, and reads place what the
// other end has, in one piece or in several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "tests/unit/tools/bench/bench_ends.h"
#include "tools/bench/message_pieces.h"

namespace splitnic::bench::bench_response_test {
namespace {

using namespace bench_ends;
using fabric::Service;
using ::testing::HasSubstr;

// measure() fails if the word of the passive end was changed less or more often.
TEST(BenchResponseTest, S000_05_fetch_ops_whose_cells_are_lost_are_executed_once) {
  for (const Service service : {Service::kRc, Service::kRd}) {
    const auto run = run_of(service, Op::kFetchOp, kFetchOpBytes, service == Service::kRd ? 4 : 1);
    SCOPED_TRACE(title(run));
    Ends ends;
    ASSERT_TRUE(ends.connect(run).has_value());
    lose_a_tenth(ends);
    const auto row = measure(ends.active, run);
    ASSERT_TRUE(row.has_value()) << row.error().text();
    EXPECT_GT(ends.faults.counts().lost, 0U);
    EXPECT_EQ(ends.active.fetched() + 1, ends.active.posted());
    EXPECT_EQ(ends.end.arrived(), 0U) << "its consumer gets nothing";
  }
}

TEST(BenchResponseTest, S000_05_a_fetch_op_of_another_length_is_refused) {
  Ends ends;
  auto run = run_of(Service::kRc, Op::kFetchOp);
  run.bytes = 2 * kFetchOpBytes;
  const auto refused = ends.connect(run);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text(), HasSubstr("fetchop changes a word of 8 bytes"));
}

// measure() compares what reads have placed with what the passive end has.
TEST(BenchResponseTest, S000_03_S000_04_reads_are_scattered_and_messages_gathered) {
  for (const Service service : {Service::kRc, Service::kRd}) {
    for (const Op op : {Op::kWrite, Op::kSend, Op::kRead}) {
      for (std::size_t pieces = 2; pieces <= fabric::kSgeMax; ++pieces) {
        auto run = run_of(service, op, 67);
        run.pieces = pieces;
        expect_measured(run);
      }
    }
  }
  auto long_read = run_of(Service::kRc, Op::kRead, 4 * kCell + 3);
  long_read.pieces = 3;
  expect_measured(long_read);
}

TEST(BenchResponseTest, S000_04_pieces_are_in_reverse_order_and_whole) {
  for (std::size_t count = 1; count <= fabric::kSgeMax; ++count) {
    for (const std::size_t bytes : {count, std::size_t{67}, std::size_t{5000}}) {
      std::size_t in_message = 0;
      std::size_t end_in_slot = bytes;
      for (std::size_t i = 0; i < count; ++i) {
        const MessagePiece piece = piece_of(i, count, bytes);
        EXPECT_GT(piece.length, 0U);
        EXPECT_EQ(piece.in_message, in_message);
        EXPECT_EQ(piece.in_slot + piece.length, end_in_slot);
        in_message += piece.length;
        end_in_slot = piece.in_slot;
      }
      EXPECT_EQ(in_message, bytes);
      EXPECT_EQ(end_in_slot, 0U);
    }
  }
}

TEST(BenchResponseTest, S000_04_pieces_that_an_operation_lacks_are_refused) {
  const auto is_refused = [](bench::Run run, std::size_t pieces) {
    run.pieces = pieces;
    Ends ends;
    return !ends.connect(run).has_value() && !ends.active.has_link();
  };
  EXPECT_TRUE(is_refused(run_of(Service::kRc, Op::kFetchOp), 2));
  EXPECT_TRUE(is_refused(run_of(Service::kStream, Op::kRead), 2));
  EXPECT_TRUE(is_refused(run_of(Service::kRc, Op::kRead), fabric::kSgeMax + 1));
  EXPECT_TRUE(is_refused(run_of(Service::kRc, Op::kRead), 0));
  EXPECT_TRUE(is_refused(run_of(Service::kRc, Op::kRead, 3), 4)) << "more pieces than bytes";
  EXPECT_FALSE(is_refused(run_of(Service::kRc, Op::kRead, 4), 4));
}

}  // namespace
}  // namespace splitnic::bench::bench_response_test
