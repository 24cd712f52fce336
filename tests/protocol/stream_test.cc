// The STREAM service: one peer, three kinds, byte numbers, and data that arrives whole over a path
// that loses, repeats and reorders.
#include <gtest/gtest.h>

#include "tests/support/stream_harness.h"

namespace splitnic::fabric::testing::stream_test {

using namespace std::chrono_literals;

std::uint64_t tx_bytes(End& end) {
  return end.adapter->streams().counters()[StreamCounter::kTxBytes];
}

// Sends of `bytes` bytes each, one after the other.
void exchange_sends(StreamHarness& harness, unsigned packets, std::size_t bytes) {
  Memory& from = harness.b().memory(bytes, 5);
  Memory& to = harness.a().memory(bytes);
  for (unsigned i = 0; i < packets; ++i) {
    to.clear();
    harness.b().sent.clear();
    harness.a().received.clear();
    ASSERT_TRUE(harness.a().post_recv(harness.qa, {to.sge()}, i));
    ASSERT_TRUE(harness.b().post_send(harness.qb, {from.sge()}, 100 + i));
    ASSERT_TRUE(harness.run_sent(1)) << i;
    EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(harness.b().sent[0].wr_id, 100 + i);
    ASSERT_EQ(harness.a().received.size(), 1U);
    EXPECT_EQ(harness.a().received[0].bytes, bytes);
    EXPECT_EQ(harness.a().received[0].wr_id, i);
    ASSERT_EQ(to.bytes, from.bytes);
  }
}

class KindTest : public ::testing::TestWithParam<StreamKind> {};

TEST_P(KindTest, S002_01_X_11_a_stream_opens_and_counts_every_byte_of_its_cells) {
  StreamLine harness(StreamHarness::of_kind(GetParam()));
  EXPECT_EQ(harness.sb().kind(), GetParam());
  const StreamNumber first = harness.sb().next_number();
  EXPECT_EQ(harness.sa().expected_number(), first);
  exchange_sends(harness, 1, 1000);
  // Three full cells and one of 232 bytes; MAC header, STREAM and cell CRC are 36 more each.
  EXPECT_EQ(static_cast<std::uint32_t>(harness.sb().next_number() - first), 1000U + 4 * 36);
  EXPECT_EQ(harness.sa().expected_number(), harness.sb().next_number());
  EXPECT_EQ(tx_bytes(harness.b()), 1000U + 4 * 36);
  EXPECT_EQ(harness.sa().next_number(), harness.sb().expected_number()) << "ACKs take no numbers";
}

TEST_P(KindTest, S002_01_only_an_rdma_stream_takes_more_than_sends) {
  StreamLine harness(StreamHarness::of_kind(GetParam()));
  Memory& from = harness.b().memory(100, 1);
  Memory& to = harness.a().memory(100);
  const bool is_rdma = GetParam() == StreamKind::kRdma;
  EXPECT_EQ(harness.b().post_write(harness.qb, {from.sge()}, to.start, to.handle).has_value(),
            is_rdma);
  SendWr fetch;
  fetch.op = WrOp::kFetchOp;
  EXPECT_FALSE(harness.b().adapter->post_send(harness.qb, fetch));
  EXPECT_FALSE(post_read(harness.b(), harness.qb, {from.sge()}, to)) << "the peer takes none";
  harness.settle();
  EXPECT_EQ(holds(to, 0, from.bytes), is_rdma);
}

TEST_P(KindTest, S002_01_an_rdma_cell_ends_a_stream_of_another_kind) {
  StreamLine harness(StreamHarness::of_kind(GetParam()));
  harness.b().tap.is_recording = true;
  Memory& to = harness.a().memory(100);
  StreamMaker maker(harness);
  maker.inject(maker.write(to.handle, to.start, some_bytes(50)));
  harness.settle();
  if (GetParam() == StreamKind::kRdma) {
    EXPECT_TRUE(holds(to, 0, some_bytes(50)));
    return;
  }
  EXPECT_TRUE(to.is_zero());
  EXPECT_TRUE(harness.are_both_down());
  ASSERT_TRUE(harness.terminate_at_b());
  EXPECT_EQ(harness.terminate_at_b()->cause, TerminateCause::kUnexpectedOp);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindTest,
                         ::testing::Values(StreamKind::kPlain, StreamKind::kRdma,
                                           StreamKind::kIscsi));

TEST(StreamTest, S002_01_an_iscsi_pdu_is_dropped_in_this_version) {
  StreamLine harness(StreamHarness::of_kind(StreamKind::kIscsi));
  StreamMaker maker(harness);
  CellHead head = maker.head(Op::kIscsiPdu, Pos::kOnly);
  head.header.service = Service::kIscsi;
  maker.inject(make_cell(head, some_bytes(48)));
  EXPECT_EQ(harness.count_a(StreamCounter::kDropService), 1U);
  EXPECT_EQ(harness.sa().state(), QpState::kRts);
  exchange_sends(harness, 1, 100);
}

TEST(StreamTest, S002_01_numbers_wrap_at_two_to_the_32) {
  StreamInit init = StreamHarness::reads();
  init.start_lcn = 0xFFFF;  // 64 KiB before the end
  StreamLine harness(init);
  EXPECT_EQ(harness.sb().next_number(), StreamNumber(0xFFFF0000));
  exchange_sends(harness, 7, 20'000);
  EXPECT_LT(harness.sb().next_number().value, 0x80000000U);
  EXPECT_EQ(harness.sa().expected_number(), harness.sb().next_number());
  EXPECT_EQ(harness.count_b(StreamCounter::kTimeouts), 0U);
}

TEST(StreamTest, S002_01_numbers_wrap_while_cells_are_lost) {
  StreamInit init = StreamHarness::reads();
  init.start_lcn = 0xFFFF;
  StreamLine harness(init);
  harness.a().faults.set_config({.loss_ppm = 50'000, .reorder_ppm = 50'000});
  exchange_sends(harness, 10, 20'000);
  EXPECT_GT(harness.count_b(StreamCounter::kTxRetransmit), 0U);
}

TEST(StreamTest, S002_01_a_stream_has_exactly_one_remote_queue_pair) {
  StreamLine harness;
  const auto again = harness.connect();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().errno_value(), EISCONN);
  // A cell of another queue pair of the same peer, and one of the right one.
  Memory& to = harness.a().memory(100);
  StreamMaker maker(harness);
  CellHead stranger = maker.head(Op::kRdmaWrite, Pos::kOnly);
  stranger.header.sqpn = Qpn(harness.qb.value ^ 1);
  stranger.va_mh = VaMh{to.start, to.handle, 10};
  maker.inject(make_cell(stranger, some_bytes(10)));
  EXPECT_TRUE(to.is_zero());
  EXPECT_EQ(harness.count_a(StreamCounter::kDropSource), 1U);
  EXPECT_EQ(harness.sa().expected_number(), maker.number);
  maker.inject(maker.write(to.handle, to.start, some_bytes(10)));
  EXPECT_TRUE(holds(to, 0, some_bytes(10)));
}

TEST(StreamTest, S002_01_both_ends_are_of_one_kind) {
  StreamHarness harness(StreamHarness::of_kind(StreamKind::kPlain),
                        StreamHarness::of_kind(StreamKind::kIscsi), StreamHarness::options());
  EXPECT_FALSE(harness.connect());
  EXPECT_EQ(harness.sa().state(), QpState::kInit);
  EXPECT_FALSE(harness.a().post_send(harness.qa, {})) << "not connected";
}

TEST(StreamTest, S002_01_a_window_of_less_than_two_cells_is_refused) {
  StreamInit small = StreamHarness::reads();
  small.window_bytes = 500;
  StreamHarness harness(StreamHarness::reads(), small, StreamHarness::options());
  EXPECT_FALSE(harness.connect());
}

// The receive buffer that the peer announces in INIT may be smaller than two cells.
TEST(StreamTest, S002_01_a_peer_with_a_small_receive_buffer_gets_one_cell_at_a_time) {
  PairOptions options = StreamHarness::options();
  options.hub.receive_buffer_bytes = 2 * kStreamMcp - 2;
  StreamLine harness(StreamHarness::reads(), options);
  exchange_sends(harness, 2, 1000);
}

TEST(StreamTest, S002_01_a_send_waits_for_its_receive) {
  StreamLine harness;
  Memory& from = harness.b().memory(1000, 3);
  Memory& to = harness.a().memory(1000);
  ASSERT_TRUE(harness.b().post_send(harness.qb, {from.sge()}));
  harness.pair.run_for(20s + 1ms);  // far more than all tries together
  EXPECT_TRUE(harness.b().sent.empty());
  EXPECT_GT(harness.count_a(StreamCounter::kDropNoReceive), 7U);
  EXPECT_EQ(harness.sb().state(), QpState::kRts);
  const std::uint64_t timeouts = harness.count_b(StreamCounter::kTimeouts);
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {to.sge()}));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_EQ(harness.count_b(StreamCounter::kTimeouts), timeouts) << "an ACK reported the receive";
}

TEST(StreamTest, S002_01_an_early_idata_waits_for_its_receive) {
  StreamLine harness;
  StreamMaker maker(harness);
  Memory& to = harness.a().memory(1000);
  const auto cells = maker.write(to.handle, to.start, some_bytes(600), 7);
  maker.inject({cells[1], cells[2], cells[0]});
  EXPECT_TRUE(holds(to, 0, some_bytes(600)));
  EXPECT_TRUE(harness.a().received.empty());
  EXPECT_EQ(static_cast<std::uint32_t>(maker.number - harness.sa().expected_number()),
            cells[2].size());
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {}, 4));
  harness.a().poll();
  ASSERT_EQ(harness.a().received.size(), 1U);
  EXPECT_EQ(harness.a().received[0].idata, 7U);
  EXPECT_EQ(harness.sa().expected_number(), maker.number);
}

TEST(StreamTest, S002_01_one_lost_cell_is_repaired_before_the_time_out) {
  StreamInit init = StreamHarness::reads();
  init.common.fixed_rto = 10s;
  StreamLine harness(init);
  Memory& from = harness.b().memory(20'000, 3);
  Memory& to = harness.a().memory(20'000);
  std::size_t seen = 0;
  harness.a().faults.drop_received([&](base::Bytes) { return ++seen == 5; });
  ASSERT_TRUE(harness.b().post_write(harness.qb, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.count_b(StreamCounter::kTimeouts), 0U);
  EXPECT_GT(harness.count_b(StreamCounter::kTxRetransmit), 0U);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(StreamTest, S002_01_what_is_kept_of_early_cells_has_a_bound) {
  StreamLine harness;
  StreamMaker maker(harness);
  Memory& to = harness.a().memory(10'000);
  const auto first = maker.write(to.handle, to.start, some_bytes(1))[0];
  for (std::size_t i = 0; i < 2048; ++i) {
    maker.inject(maker.write(to.handle, to.at(1 + i), some_bytes(1)));
  }
  EXPECT_EQ(harness.count_a(StreamCounter::kEarly), 2048U);
  const auto one_more = maker.write(to.handle, to.at(5000), some_bytes(1));
  maker.inject(one_more);
  EXPECT_EQ(harness.count_a(StreamCounter::kDropEarlyFull), 1U);
  EXPECT_EQ(to.bytes[5000], std::byte{0});
  maker.inject(first);
  maker.inject(one_more);
  EXPECT_EQ(harness.sa().expected_number(), maker.number);
  EXPECT_NE(to.bytes[5000], std::byte{0});
}

TEST(StreamTest, S002_01_a_peer_that_is_gone_is_noticed) {
  StreamInit init = StreamHarness::reads();
  init.common.stall_min = 100ms;
  StreamLine harness(init);
  Memory& from = harness.b().memory(1000, 3);
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {harness.a().memory(1000).sge()}));
  harness.a().faults.drop_received([](base::Bytes datagram) { return datagram.size() > 200; });
  ASSERT_TRUE(harness.b().post_send(harness.qb, {from.sge()}, 1));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {from.sge()}, 2));
  ASSERT_TRUE(harness.run_sent(2));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(harness.b().sent[1].status, WcStatus::kFlushed);
  EXPECT_EQ(harness.sb().state(), QpState::kErr);
}

TEST(StreamTest, S002_01_completions_come_in_the_order_of_posts) {
  StreamLine harness;
  Memory& from = harness.b().memory(5000, 1);
  Memory& into = harness.b().memory(5000);
  Memory& there = harness.a().memory(10'000, 2);
  for (std::uint64_t i = 0; i < 30; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, there, 5000, i));
    } else {
      ASSERT_TRUE(harness.b().post_write(harness.qb, {from.sge()}, there.start, there.handle, i));
    }
  }
  ASSERT_TRUE(harness.run_sent(30));
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(harness.b().sent[i].wr_id, i);
    EXPECT_EQ(harness.b().sent[i].status, WcStatus::kSuccess);
  }
}

// Sends, writes with idata and reads, both ways at once.
struct Fault {
  const char* name;
  FaultConfig config;
};
class PathTest : public ::testing::TestWithParam<Fault> {};

// One side of the exchange: `to` gets pieces of `from` by write and send, `back` by read.
struct Traffic {
  Traffic(End& near, Qpn near_qp, End& far, Qpn far_qp)
      : near_(near),
        far_(far),
        near_qp_(near_qp),
        far_qp_(far_qp),
        from(near.memory(kAll, 7)),
        to(far.memory(kAll)),
        back(near.memory(kAll)),
        there(far.memory(kAll, 9)) {
    for (unsigned i = 0; i < kPackets; ++i) {
      const std::size_t bytes = bytes_of(i);
      if (i % 3 == 2) continue;
      std::vector<Sge> scatter;
      if (i % 3 == 0) scatter.push_back(to.sge(i * kPart, bytes));
      EXPECT_TRUE(far_.post_recv(far_qp_, scatter, i));
    }
  }
  static std::size_t bytes_of(unsigned i) { return i * 97 % kPart + 1; }
  void step() {
    while (posted_ < kPackets && posted_ < near_.sent.size() + 16) post(posted_++);
  }
  bool is_done() const { return near_.sent.size() == kPackets && failed_ == 0; }
  void post(unsigned i) {
    const std::size_t at = i * kPart;
    const Sge piece = from.sge(at, bytes_of(i));
    base::Status done;
    if (i % 3 == 0) done = near_.post_send(near_qp_, {piece}, i);
    if (i % 3 == 1) done = near_.post_write(near_qp_, {piece}, to.at(at), to.handle, i, i);
    if (i % 3 == 2) {
      done = post_read(near_, near_qp_, {back.sge(at, bytes_of(i))}, there, at, i);
    }
    if (!done) ++failed_;
  }
  void check() const {
    for (unsigned i = 0; i < kPackets; ++i) {
      EXPECT_EQ(near_.sent[i].wr_id, i);
      EXPECT_EQ(near_.sent[i].status, WcStatus::kSuccess);
      const std::size_t at = i * kPart;
      const auto sent = std::span(i % 3 == 2 ? there.bytes : from.bytes).subspan(at, bytes_of(i));
      EXPECT_TRUE(holds(i % 3 == 2 ? back : to, at, sent)) << i;
    }
    ASSERT_EQ(far_.received.size(), kPackets - kPackets / 3);
    for (unsigned i = 0, n = 0; i < kPackets; ++i) {
      if (i % 3 == 2) continue;
      const Wc& wc = far_.received[n++];
      EXPECT_EQ(wc.wr_id, i);
      EXPECT_EQ(wc.bytes, bytes_of(i));
      EXPECT_EQ(wc.has_idata, i % 3 == 1);
      EXPECT_EQ(wc.idata, i % 3 == 1 ? i : 0);
    }
  }

  static constexpr unsigned kPackets = 150;
  static constexpr std::size_t kPart = 4000;
  static constexpr std::size_t kAll = kPackets * kPart;
  End& near_;
  End& far_;
  Qpn near_qp_, far_qp_;
  Memory& from;
  Memory& to;
  Memory& back;
  Memory& there;
  unsigned posted_ = 0;
  unsigned failed_ = 0;
};

TEST_P(PathTest, S002_01_data_arrives_whole_and_in_order) {
  StreamInit init = StreamHarness::reads();
  init.start_lcn = 0xFFFE;  // the numbers wrap on the way
  StreamLine harness(init);
  harness.a().faults.set_config(GetParam().config);
  harness.b().faults.set_config(GetParam().config);
  Traffic up(harness.b(), harness.qb, harness.a(), harness.qa);
  Traffic down(harness.a(), harness.qa, harness.b(), harness.qb);
  ASSERT_TRUE(harness.pair.run_until(
      [&] {
        up.step();
        down.step();
        return up.is_done() && down.is_done();
      },
      200s))
      << harness.b().sent.size() << " " << harness.a().sent.size();
  up.check();
  down.check();
  EXPECT_EQ(harness.sa().expected_number(), harness.sb().next_number());
  EXPECT_EQ(harness.count_a(StreamCounter::kErrors) + harness.count_b(StreamCounter::kErrors), 0U);
  EXPECT_LT(harness.pair.idle_steps_with_past_deadline, 10);
}

INSTANTIATE_TEST_SUITE_P(Paths, PathTest,
                         ::testing::Values(Fault{"clean", {}}, Fault{"loss", {.loss_ppm = 20'000}},
                                           Fault{"bursts", {.loss_ppm = 10'000, .loss_burst = 4}},
                                           Fault{"repeats", {.duplicate_ppm = 200'000}},
                                           Fault{"reorders", {.reorder_ppm = 100'000}},
                                           Fault{"corrupts", {.corrupt_ppm = 20'000}},
                                           Fault{"all",
                                                 {.loss_ppm = 20'000,
                                                  .duplicate_ppm = 50'000,
                                                  .reorder_ppm = 50'000,
                                                  .corrupt_ppm = 5'000}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace splitnic::fabric::testing::stream_test
