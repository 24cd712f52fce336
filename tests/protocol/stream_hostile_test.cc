// ACKs and TERMINATEs of a peer that are rejected, and cells that break the rules of the stream.
#include <gtest/gtest.h>

#include "tests/support/stream_harness.h"

namespace splitnic::fabric::testing::stream_hostile_test {

// Only the ACKs that a peer may send are valid; the others are dropped and the stream continues.
class HostileTest : public ::testing::Test {
 protected:
  HostileTest() {
    harness_.b().faults.set_config({.loss_ppm = 1'000'000});
    EXPECT_TRUE(harness_.a().post_write(harness_.qa, {from_.sge()}, to_.start, to_.handle, 1));
    harness_.a().poll();  // all of it is in flight, and lost
  }
  ~HostileTest() override {
    EXPECT_EQ(harness_.sa().state(), QpState::kRts);
    EXPECT_TRUE(harness_.a().sent.empty());
    harness_.b().faults.set_config({});
    EXPECT_TRUE(harness_.pair.run_until([&] { return harness_.a().sent.size() == 1; }));
    EXPECT_EQ(harness_.a().sent.at(0).status, WcStatus::kSuccess);
    EXPECT_EQ(from_.bytes, to_.bytes);
  }
  std::vector<std::byte> cause(const Terminate& terminate = {}) {
    std::vector<std::byte> out(kTerminateBytes);
    terminate.emit(out.data());
    return out;
  }
  StreamLine harness_;
  StreamMaker maker_{harness_};
  Memory& from_ = harness_.a().memory(1000, 1);
  Memory& to_ = harness_.b().memory(1000);
};

TEST_F(HostileTest, S002_01_an_ack_of_what_was_not_sent_is_dropped) {
  const StreamNumber all = harness_.sa().next_number();
  std::uint64_t dropped = 0;
  for (const std::uint32_t beyond : {1U, 1000U, 0x70000000U}) {
    maker_.inject(maker_.ack(all + beyond));
    EXPECT_EQ(harness_.count_a(StreamCounter::kDropAck), ++dropped) << beyond;
  }
  for (const std::uint32_t before : {1U, 100U}) {
    maker_.inject(maker_.ack(all - before));
    EXPECT_EQ(harness_.count_a(StreamCounter::kDropAck), ++dropped) << "half a cell";
  }
  maker_.inject(maker_.ack(harness_.first_number_of_a() - 1));
  EXPECT_EQ(harness_.count_a(StreamCounter::kAckLate), 1U);
}

TEST_F(HostileTest, S002_20_a_terminate_that_lies_outside_is_dropped) {
  const std::uint32_t w = harness_.sa().window_bytes();
  std::uint64_t dropped = 0;
  for (const StreamNumber at :
       {maker_.number - 1, maker_.number - 100'000, maker_.number + w, maker_.number + (w - 83)}) {
    maker_.inject(maker_.terminate(at, cause()));
    EXPECT_EQ(harness_.count_a(StreamCounter::kDropTerminate), ++dropped);
  }
}

TEST_F(HostileTest, S002_20_a_terminate_with_an_unknown_cause_is_dropped) {
  auto unknown = cause();
  unknown[1] = std::byte{0x44};
  maker_.inject(maker_.terminate(maker_.number, unknown));
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropTerminate), 1U);
  auto letter = cause();
  letter[2] = std::byte{'z'};
  maker_.inject(maker_.terminate(maker_.number, letter));
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropTerminate), 2U);
  maker_.inject(maker_.terminate(maker_.number, some_bytes(20)));
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropFormat), 1U);
}

TEST_F(HostileTest, a_nak_is_dropped) {
  const AckExt ext{.code = AckCode::kRemoteAccess, .detail = 'e'};
  CellHead head = maker_.head(Op::kNak, Pos::kOnly);
  head.ack = &ext;
  maker_.inject(make_cell(head, {}));
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropFormat), 1U);
}

// Cells that break the rules end the stream and touch nothing.
class BrokenTest : public ::testing::Test {
 protected:
  void expect_refused(const StreamMaker::Cell& cell) {
    maker_.inject(cell);
    EXPECT_EQ(harness_.sa().state(), QpState::kErr);
    EXPECT_EQ(harness_.count_a(StreamCounter::kDropRefused), 1U);
    EXPECT_TRUE(there_.is_zero());
    harness_.settle();
    EXPECT_EQ(harness_.sb().state(), QpState::kErr);
  }
  CellHead write(Pos pos, std::uint32_t length) {
    CellHead head = maker_.head(Op::kRdmaWrite, pos);
    head.va_mh = VaMh{there_.start, there_.handle, length};
    return head;
  }
  // The first of two cells of a write arrives, and a receive is posted.
  void take_first(std::optional<std::uint32_t> idata = {}) {
    ASSERT_TRUE(harness_.a().post_recv(harness_.qa, {there_.sge()}));
    CellHead head = write(Pos::kFirst, kStreamMcp + 10);
    head.idata = idata;
    maker_.inject(maker_.next(head, some_bytes(kStreamMcp)));
    ASSERT_TRUE(holds(there_, 0, some_bytes(kStreamMcp)));
    there_.clear();
  }
  CellHead second() {
    CellHead head = write(Pos::kLast, kStreamMcp + 10);
    head.header.csn = 1;
    head.va_mh->address = there_.at(kStreamMcp);
    return head;
  }
  StreamLine harness_;
  StreamMaker maker_{harness_};
  Memory& there_ = harness_.a().memory(10'000);
};

TEST_F(BrokenTest, a_packet_number_that_is_not_next) {
  ++maker_.psn;
  expect_refused(maker_.write(there_.handle, there_.start, some_bytes(10))[0]);
}
TEST_F(BrokenTest, a_middle_without_a_first) {
  CellHead head = write(Pos::kMiddle, 1000);
  head.header.csn = 1;
  expect_refused(maker_.next(head, some_bytes(kStreamMcp)));
}
TEST_F(BrokenTest, a_full_cell_that_is_not_full) {
  expect_refused(maker_.next(write(Pos::kFirst, 1000), some_bytes(100)));
}
TEST_F(BrokenTest, more_than_the_packet_has) {
  expect_refused(maker_.next(write(Pos::kOnly, 99), some_bytes(100)));
}
TEST_F(BrokenTest, less_than_the_packet_has) {
  expect_refused(maker_.next(write(Pos::kOnly, 101), some_bytes(100)));
}
TEST_F(BrokenTest, another_operation_inside_a_packet) {
  take_first();
  CellHead head = maker_.head(Op::kSend, Pos::kLast);
  head.header.csn = 1;
  expect_refused(maker_.next(head, some_bytes(10)));
}
TEST_F(BrokenTest, another_packet_number_inside_a_packet) {
  take_first();
  ++maker_.psn;
  expect_refused(maker_.next(second(), some_bytes(10)));
}
TEST_F(BrokenTest, X_39_another_idata_inside_a_packet) {
  take_first(1);
  CellHead head = second();
  head.idata = 2;
  expect_refused(maker_.next(head, some_bytes(10)));
}
TEST_F(BrokenTest, a_response_that_nobody_requested) {
  CellHead head = write(Pos::kOnly, 100);
  head.header.op = Op::kRdmaReadResp;
  expect_refused(maker_.next(head, some_bytes(100)));
}
TEST_F(BrokenTest, an_early_response_that_nobody_requested) {
  CellHead head = write(Pos::kOnly, 100);
  head.header.op = Op::kRdmaReadResp;
  maker_.number = maker_.number + 5000;
  expect_refused(maker_.next(head, some_bytes(100)));
}

// Its response would need more cells than a packet has.
TEST(StreamHostileTest, a_read_longer_than_a_packet_ends_the_stream) {
  StreamInit init = StreamHarness::reads(2);
  init.common.mcp = kMcpMin;
  StreamLine harness(init);
  StreamMaker maker(harness);
  constexpr std::uint32_t kLongest = kCellsPerPacketMax * kMcpMin;
  Memory& there = harness.a().memory(kLongest + 1);
  Memory& into = harness.b().memory(kLongest + 1);
  maker.inject(maker.read_request(there, kLongest, 1, into));
  EXPECT_EQ(harness.sa().state(), QpState::kRts);
  maker.inject(maker.read_request(there, kLongest + 1, 2, into));
  EXPECT_EQ(harness.sa().state(), QpState::kErr);
  EXPECT_EQ(harness.count_a(StreamCounter::kDropRefused), 1U);
}

TEST(StreamHostileTest, S002_01_a_cell_from_another_link_is_dropped) {
  PairOptions options = StreamHarness::options();
  options.ends = 3;
  StreamLine harness(StreamHarness::reads(), options);
  StreamMaker maker(harness);
  Memory& there = harness.a().memory(100);
  const auto cell = maker.write(there.handle, there.start, some_bytes(100))[0];
  CellView view;
  ASSERT_EQ(parse_cell(cell, view), CellError::kNone);
  harness.sa().on_cell(view, cell.size(), harness.a().link(1), harness.pair.now());
  EXPECT_EQ(harness.count_a(StreamCounter::kDropSource), 1U);
  EXPECT_TRUE(there.is_zero());
  maker.inject(cell);
  EXPECT_TRUE(holds(there, 0, some_bytes(100)));
}

// The order of an early cell is checked when the stream has caught up; its placement was checked
// before.
TEST(StreamHostileTest, an_early_cell_out_of_its_packet_ends_the_stream_when_it_is_next) {
  StreamLine harness;
  StreamMaker maker(harness);
  Memory& there = harness.a().memory(10'000);
  const auto good = maker.write(there.handle, there.start, some_bytes(100));
  maker.psn = maker.psn + 5;
  maker.inject(maker.write(there.handle, there.at(100), some_bytes(100)));
  EXPECT_EQ(harness.sa().state(), QpState::kRts);
  maker.inject(good);
  EXPECT_EQ(harness.sa().state(), QpState::kErr);
}

// An untagged cell that is early is dropped, and retransmitted.
TEST(StreamHostileTest, S002_21_untagged_cells_are_taken_in_order_only) {
  StreamLine harness;
  StreamMaker maker(harness);
  Memory& there = harness.a().memory(1000);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(harness.a().post_recv(harness.qa, {there.sge()}));
  const auto first = maker.send(some_bytes(10, 1));
  const auto second = maker.send(some_bytes(10, 2));
  maker.inject(second);
  EXPECT_EQ(harness.count_a(StreamCounter::kDropOrder), 1U);
  EXPECT_TRUE(there.is_zero());
  maker.inject({first, second});
  EXPECT_EQ(harness.a().received.size(), 2U);
  EXPECT_TRUE(holds(there, 0, some_bytes(10, 2)));
}

}  // namespace splitnic::fabric::testing::stream_hostile_test
