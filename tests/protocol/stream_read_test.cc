// RDMA reads on STREAM: the read request queue by message sequence number, responses as tagged
// cells, and where they may go.
#include <gtest/gtest.h>

#include "tests/support/stream_harness.h"

namespace splitnic::fabric::testing::stream_read_test {

using namespace std::chrono_literals;

// End b sends requests by hand and drops the responses of end a, so that they stay open.
class ReadQueueTest : public ::testing::Test {
 protected:
  static constexpr std::uint16_t kDepth = 3;
  static StreamInit narrow() {
    StreamInit init = StreamHarness::reads(kDepth);
    init.window_bytes = 2000;
    return init;
  }
  void ask(std::uint32_t msn, std::uint32_t length = 50'000) {
    maker_.inject(maker_.read_request(there_, length, msn, into_));
  }
  bool is_up() { return harness_.sa().state() == QpState::kRts; }
  void expect_terminated(TerminateCause cause) {
    EXPECT_FALSE(is_up());
    harness_.b().tap.is_recording = true;
    harness_.settle();
    ASSERT_TRUE(harness_.terminate_at_b());
    EXPECT_EQ(harness_.terminate_at_b()->cause, cause);
    EXPECT_EQ(harness_.terminate_at_b()->check, 0);
    EXPECT_EQ(harness_.terminate_at_b()->offending.op, Op::kRdmaReadReq);
  }
  StreamLine harness_{narrow()};
  StreamMaker maker_{harness_};
  Memory& there_ = harness_.a().memory(50'000, 1);
  Memory& into_ = harness_.b().memory(50'000);
};

TEST_F(ReadQueueTest, S002_21_numbers_in_order_are_taken_up_to_the_depth) {
  for (std::uint32_t msn = 1; msn <= kDepth; ++msn) {
    ask(msn);
    EXPECT_TRUE(is_up()) << msn;
  }
  EXPECT_EQ(harness_.count_a(StreamCounter::kRxCells), kDepth);
}

TEST_F(ReadQueueTest, S002_21_one_more_than_the_depth_ends_the_stream) {
  for (std::uint32_t msn = 1; msn <= kDepth; ++msn) ask(msn);
  ASSERT_TRUE(is_up());
  ask(kDepth + 1);
  expect_terminated(TerminateCause::kReadQueueFull);
}

TEST_F(ReadQueueTest, S002_21_a_number_that_was_left_out_ends_the_stream) {
  ask(1);
  ASSERT_TRUE(is_up());
  ask(3);
  expect_terminated(TerminateCause::kMsnRange);
}
TEST_F(ReadQueueTest, S002_21_the_first_number_is_one) {
  ask(0);
  expect_terminated(TerminateCause::kMsnRange);
}
TEST_F(ReadQueueTest, S002_21_a_number_that_was_used_ends_the_stream) {
  ask(1);
  ask(1);
  expect_terminated(TerminateCause::kMsnRange);
}
TEST_F(ReadQueueTest, S002_21_a_number_far_out_of_range_ends_the_stream) {
  ask(0xFFFFFFFF);
  expect_terminated(TerminateCause::kMsnRange);
}

// The repetition of a request that was taken is ignored.
TEST_F(ReadQueueTest, S002_21_a_request_that_comes_twice_is_taken_once) {
  const auto cell = maker_.read_request(there_, 100, 1, into_);
  maker_.inject({cell, cell});
  EXPECT_TRUE(is_up());
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropOld), 1U);
}

TEST(StreamReadTest, S002_21_a_stream_without_a_queue_takes_none) {
  StreamLine harness(StreamHarness::reads(0));
  StreamMaker maker(harness);
  Memory& there = harness.a().memory(100, 1);
  Memory& into = harness.b().memory(100);
  EXPECT_FALSE(post_read(harness.b(), harness.qb, {into.sge()}, there));
  maker.inject(maker.read_request(there, 100, 1, into));
  EXPECT_EQ(harness.sa().state(), QpState::kErr);
  EXPECT_TRUE(into.is_zero());
}

std::vector<std::uint32_t> requests_in(const End& end) {
  std::vector<std::uint32_t> msns;
  for (const TappedCell& cell : end.tap.cells) {
    if (cell.sent || cell.header().op != Op::kRdmaReadReq) continue;
    msns.push_back(ReadExt::parse(cell.view().read_ext)->msn);
  }
  return msns;
}

// The peer serves four, and no response arrives.
TEST(StreamReadTest, T_21_no_more_reads_are_open_than_this_end_wants) {
  StreamInit init = StreamHarness::reads(4);
  init.common.max_rd_atomic = 2;
  StreamLine harness(init);
  harness.a().tap.is_recording = true;
  harness.b().faults.drop_received([](base::Bytes) { return true; });
  Memory& there = harness.a().memory(400, 1);
  Memory& into = harness.b().memory(400);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge(i * 100, 100)}, there, i * 100, i));
  }
  harness.settle();
  EXPECT_EQ(requests_in(harness.a()).size(), 2U);
  harness.b().faults.drop_received({});
  ASSERT_TRUE(harness.run_sent(4));
  EXPECT_EQ(into.bytes, there.bytes);
}

TEST(StreamReadTest, S002_21_more_reads_than_the_depth_wait_for_a_place) {
  StreamLine harness(StreamHarness::reads(2));
  harness.a().tap.is_recording = true;
  Memory& there = harness.a().memory(100'000, 1);
  Memory& into = harness.b().memory(100'000);
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge(i * 2000, 2000)}, there, i * 2000, i));
  }
  ASSERT_TRUE(harness.run_sent(50));
  for (const Wc& wc : harness.b().sent) {
    EXPECT_EQ(wc.status, WcStatus::kSuccess);
    EXPECT_EQ(wc.op, WcOp::kRdmaRead);
    EXPECT_EQ(wc.bytes, 2000U);
  }
  EXPECT_EQ(into.bytes, there.bytes);
  const auto msns = requests_in(harness.a());
  ASSERT_EQ(msns.size(), 50U);
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(msns[i], i + 1);
}

TEST(StreamReadTest, S002_21_lost_requests_and_responses_are_repeated) {
  StreamLine harness(StreamHarness::reads(2));
  harness.a().faults.set_config({.loss_ppm = 100'000});
  harness.b().faults.set_config({.loss_ppm = 100'000, .reorder_ppm = 50'000});
  Memory& there = harness.a().memory(100'000, 1);
  Memory& into = harness.b().memory(100'000);
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge(i * 2000, 2000)}, there, i * 2000, i));
  }
  ASSERT_TRUE(harness.run_sent(50));
  for (const Wc& wc : harness.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(into.bytes, there.bytes);
}

// As on a path that has narrowed: requests, ACKs and TERMINATE pass, and long cells do not.
TEST(StreamReadTest, S002_20_a_read_ends_when_its_response_never_arrives) {
  StreamInit replies = StreamHarness::reads();
  replies.common.stall_min = 100ms;  // the reader has 5 s for its request
  StreamHarness harness(replies, StreamHarness::reads(), StreamHarness::options());
  ASSERT_TRUE(harness.connect());
  Memory& there = harness.a().memory(1000, 1);
  Memory& into = harness.b().memory(1000);
  harness.b().faults.drop_received([](base::Bytes datagram) { return datagram.size() > 200; });
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, there, 0, 5));
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, there, 0, 6));
  ASSERT_TRUE(harness.run_sent(2));
  EXPECT_EQ(harness.b().sent[0].wr_id, 5U);
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRemoteOperational);
  EXPECT_EQ(harness.b().sent[1].status, WcStatus::kFlushed);
  harness.settle();
  EXPECT_TRUE(harness.are_both_down());
  EXPECT_TRUE(into.is_zero());
}

TEST(StreamReadTest, a_read_of_nothing_completes) {
  StreamLine harness;
  Memory& there = harness.a().memory(100, 1);
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {}, there));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
}

// A fence holds back later work requests until the response is in place.
TEST(StreamReadTest, a_fenced_write_comes_after_the_response) {
  StreamLine harness;
  Memory& there = harness.a().memory(50'000, 1);
  Memory& into = harness.b().memory(50'000);
  Memory& copy = harness.a().memory(50'000);
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, there));
  const std::vector<Sge> pieces{into.sge()};
  SendWr wr;
  wr.op = WrOp::kRdmaWrite;
  wr.gather = pieces;
  wr.remote_address = copy.start;
  wr.remote_handle = copy.handle;
  wr.is_fenced = true;
  ASSERT_TRUE(harness.b().adapter->post_send(harness.qb, wr));
  ASSERT_TRUE(harness.run_sent(2));
  EXPECT_EQ(copy.bytes, there.bytes);
}

// The response is a tagged cell like a write: its target is checked as remote memory.
TEST(StreamReadTest, X_17_a_response_goes_where_the_profile_lets_a_write_go) {
  for (const MrwtProfile profile : {MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows}) {
    for (const bool through_window : {false, true}) {
      StreamLine harness(StreamHarness::reads(), StreamHarness::options(profile));
      Memory& there = harness.a().memory(1000, 1);
      Memory& into = harness.b().memory(1000);
      const auto bind = [](End& end, Memory& memory, std::uint8_t rights) {
        return end.adapter->memory()
            .windows()
            .bind_window(end.pd, memory.handle, memory.start, memory.bytes.size(), rights, Qpn{})
            .value();
      };
      const Memory source{
          .bytes = {}, .handle = bind(harness.a(), there, kRemoteRead), .start = there.start};
      Sge piece = into.sge();
      if (through_window) piece.lkey = bind(harness.b(), into, kRemoteWrite);
      ASSERT_TRUE(post_read(harness.b(), harness.qb, {piece}, source));
      ASSERT_TRUE(harness.run_sent(1));
      const bool fits = through_window || profile == MrwtProfile::kRegionsOk;
      EXPECT_EQ(harness.b().sent[0].status, fits ? WcStatus::kSuccess : WcStatus::kLocalProtection);
      EXPECT_EQ(into.bytes == there.bytes, fits);
    }
  }
}

// The link has no room, so that the request is not sent: the peer cannot have replied to it.
TEST(StreamReadTest, S002_20_a_read_that_was_not_sent_has_no_response) {
  StreamLine harness;
  StreamMaker maker(harness);
  const QpPair other = harness.pair.connect(QpInit{});
  Memory& into = harness.a().memory(100);
  Memory& there = harness.b().memory(100, 5);
  Memory& much = harness.a().memory(900'000);
  Memory& far = harness.b().memory(900'000);
  harness.a().tap.is_recording = true;
  harness.a().tap.blocks = true;
  ASSERT_TRUE(harness.a().post_write(other.a, {much.sge()}, far.start, far.handle));
  harness.a().poll();
  ASSERT_TRUE(post_read(harness.a(), harness.qa, {into.sge()}, there, 0, 9));
  harness.a().poll();
  ASSERT_EQ(harness.sa().next_number(), harness.first_number_of_a());
  CellHead response = maker.head(Op::kRdmaReadResp, Pos::kOnly);
  response.header.psn = harness.sa().start_psn;
  response.va_mh = VaMh{into.start, into.handle, 100};
  maker.inject(maker.next(response, some_bytes(100)));
  EXPECT_TRUE(into.is_zero());
  EXPECT_EQ(harness.sa().state(), QpState::kErr);
  ASSERT_EQ(harness.a().sent.size(), 1U);
  EXPECT_EQ(harness.a().sent[0].wr_id, 9U);
  EXPECT_EQ(harness.a().sent[0].status, WcStatus::kFlushed);
}

// End a sends a request, and end b replies by hand with something else.
class ResponseTest : public ::testing::Test {
 protected:
  ResponseTest() {
    EXPECT_TRUE(post_read(harness_.a(), harness_.qa, {into_.sge(0, 100)}, there_, 0, 9));
    harness_.a().poll();
  }
  CellHead response() {
    CellHead head = maker_.head(Op::kRdmaReadResp, Pos::kOnly);
    head.header.psn = harness_.sa().start_psn;
    head.va_mh = VaMh{into_.start, into_.handle, 100};
    return head;
  }
  void expect_bad(const CellHead& head, std::size_t payload = 100) {
    maker_.inject(maker_.next(head, some_bytes(payload)));
    ASSERT_EQ(harness_.a().sent.size(), 1U);
    EXPECT_EQ(harness_.a().sent[0].wr_id, 9U);
    EXPECT_EQ(harness_.a().sent[0].status, WcStatus::kBadResponse);
    EXPECT_TRUE(into_.is_zero());
    EXPECT_EQ(harness_.sa().state(), QpState::kErr);
  }
  StreamLine harness_;
  StreamMaker maker_{harness_};
  Memory& into_ = harness_.a().memory(1000);
  Memory& there_ = harness_.b().memory(1000, 5);
};

TEST_F(ResponseTest, the_right_response_is_taken) {
  maker_.inject(maker_.next(response(), some_bytes(100)));
  ASSERT_EQ(harness_.a().sent.size(), 1U);
  EXPECT_EQ(harness_.a().sent[0].status, WcStatus::kSuccess);
  EXPECT_TRUE(holds(into_, 0, some_bytes(100)));
}
TEST_F(ResponseTest, S002_20_one_to_another_place_is_not) {
  CellHead head = response();
  head.va_mh->address = into_.at(1);
  expect_bad(head);
}
TEST_F(ResponseTest, S002_20_one_to_other_memory_is_not) {
  CellHead head = response();
  head.va_mh->handle =
      harness_.a()
          .adapter->memory()
          .windows()
          .bind_window(harness_.a().pd, into_.handle, into_.start, 100, kRemoteWrite, Qpn{})
          .value();
  expect_bad(head);
}
TEST_F(ResponseTest, S002_20_one_of_another_length_is_not) {
  CellHead head = response();
  head.va_mh->length = 101;
  expect_bad(head, 101);
}
TEST_F(ResponseTest, S002_20_one_to_a_later_read_is_not_before_the_first) {
  ASSERT_TRUE(post_read(harness_.a(), harness_.qa, {into_.sge(500, 100)}, there_, 0, 10));
  harness_.a().poll();
  CellHead head = response();
  ++head.header.psn;
  head.va_mh->address = into_.at(500);
  maker_.inject(maker_.next(head, some_bytes(100)));
  EXPECT_TRUE(into_.is_zero());
  EXPECT_EQ(harness_.sa().state(), QpState::kErr);
  ASSERT_EQ(harness_.a().sent.size(), 2U);
  for (const Wc& wc : harness_.a().sent) EXPECT_NE(wc.status, WcStatus::kSuccess) << wc.wr_id;
}

}  // namespace splitnic::fabric::testing::stream_read_test
