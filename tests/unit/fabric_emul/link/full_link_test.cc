// The full profile: flits of 128 bytes, lanes, flit credits, retry.
#include "fabric_emul/link/full_profile/full_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "full_wire.h"

namespace splitnic::fabric::full_link_test {

using namespace full_wire;
using ::testing::ElementsAre;

TEST(FullLinkTest, S000_43_a_cell_of_eight_flits_is_rebuilt) {
  Wire w;
  const auto cell = pattern(8 * 128, 3);
  ASSERT_TRUE(w.a.post(0, cell));
  std::array<std::byte, 1400> datagram;
  const std::size_t bytes = w.a.fill(w.clock.now(), datagram);
  EXPECT_EQ(bytes, 8U * 144);
  FlitWalker walker(base::Bytes(datagram).first(bytes));
  FlitView flit;
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_EQ(walker.next(flit), FlitWalker::Step::kFlit);
    EXPECT_EQ(flit.header.lsn, Lsn(i + 1));
    EXPECT_EQ(flit.header.ctl, i == 0 ? kFlitSof : i == 7 ? kFlitEof : 0);
    EXPECT_EQ(flit.payload.size(), 128U);
  }
  w.give(w.b, base::Bytes(datagram).first(bytes));
  ASSERT_EQ(w.b_sink.got.size(), 1U);
  EXPECT_EQ(w.b_sink.got[0].cell, cell);
  EXPECT_EQ(w.b_sink.got[0].blocks, 16U);
}

TEST(FullLinkTest, S000_44_the_golden_flit_of_an_ack_cell) {
  // 3.8: DATA, lane 0, whole cell of 44 bytes, LSN 9, acknowledges 41, lane 0 may have 0x140
  // blocks.
  const std::array<std::uint32_t, 11> words{0x10d00003, 0x00010002, 0x00000010, 0x00000011,
                                            0x00000100, 0x00000000, 0x80010000, 0x00000001,
                                            0x00400000, 0x00000000, 0x9552447f};
  std::vector<std::byte> cell(44);
  for (std::size_t i = 0; i < words.size(); ++i) base::store_be(cell.data() + 4 * i, words[i]);
  FullLinkConfig config;
  config.lanes_mask = 0x8001;
  config.receive_blocks = 0x140 - 41;  // each of the peer's 41 cells gave a block back
  Wire w(config);
  for (unsigned i = 0; i < 8; ++i) ASSERT_TRUE(w.a.post(0, pattern(40, i)));
  for (unsigned i = 0; i < 41; ++i) ASSERT_TRUE(w.b.post(0, pattern(40, i)));
  w.pump();
  ASSERT_TRUE(w.a.post(0, cell));
  std::array<std::byte, 1400> datagram;
  ASSERT_EQ(w.a.fill(w.clock.now(), datagram), 60U);
  const std::array<std::uint32_t, 4> header{0x00c0002c, 0x00090029, 0x00000140, 0xcad68b6d};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(base::load_be<std::uint32_t>(datagram.data() + 4 * i), header[i]) << i;
  }
}

TEST(FullLinkTest, S000_44_one_acknowledgement_covers_many_flits) {
  Wire w;
  for (unsigned i = 0; i < 50; ++i) ASSERT_TRUE(w.a.post(0, pattern(100, i)));
  w.carry(w.a, w.b);
  EXPECT_EQ(w.b_sink.got.size(), 11U);  // what one datagram holds
  w.carry(w.b, w.a);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kTxControl), 1U);
}

// S000-44: 1 % of flits harmed; the link repairs it, every cell arrives once and in order.
TEST(FullLinkTest, S000_44_corrupted_flits_are_repaired_by_the_link) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Wire w;
    base::SeededRandom random(seed);
    w.harm = [&](std::vector<std::byte>& datagram) {
      if (random.chance_ppm(30'000)) return true;
      if (random.chance_ppm(30'000)) {
        const auto bit = random.below(datagram.size() * 8);
        datagram[bit / 8] ^= std::byte{1} << (bit % 8);
      }
      return false;
    };
    unsigned posted = 0;
    while (posted < 2000) {
      while (posted < 2000 &&
             w.a.post(static_cast<std::uint8_t>(posted % 3), pattern(200, posted))) {
        ++posted;
      }
      w.run(2ms);
    }
    w.run(100ms);
    ASSERT_EQ(w.b_sink.got.size(), 2000U) << seed;
    std::array<unsigned, 3> next{0, 1, 2};
    for (const auto& got : w.b_sink.got) {
      ASSERT_EQ(got.cell, pattern(200, next[got.vl])) << seed;
      next[got.vl] += 3;
    }
    EXPECT_GT(w.count(w.a, FullLinkCounter::kTxResend), 0U);
    EXPECT_TRUE(w.a.up());
    EXPECT_TRUE(w.b.up());
  }
}

TEST(FullLinkTest, lsn_wraps) {
  Wire w;
  for (unsigned i = 0; i < 70'000; ++i) {
    ASSERT_TRUE(w.a.post(0, pattern(32, i)));
    if (i % 100 == 99) w.pump();
  }
  w.pump();
  EXPECT_EQ(w.b_sink.got.size(), 70'000U);
  EXPECT_EQ(w.count(w.a, FullLinkCounter::kTxResend), 0U);
}

TEST(FullLinkTest, S000_40_a_lane_without_credits_blocks_no_other) {
  FullLinkConfig config;
  config.window = 1024;
  Wire w(config);
  w.b_sink.holds = 1;  // lane 0 of b frees nothing
  for (unsigned i = 0; i < 300; ++i) {
    ASSERT_TRUE(w.a.post(0, pattern(128, i)));
    ASSERT_TRUE(w.a.post(1, pattern(128, i)));
  }
  w.pump();
  EXPECT_EQ(w.b_sink.count(0), 128U);  // 256 blocks
  EXPECT_EQ(w.b_sink.count(1), 300U);
  // S000-45: back pressure, not loss.
  w.b_sink.release_all();
  w.pump();
  EXPECT_EQ(w.b_sink.count(0), 300U);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropBuffer), 0U);
}

TEST(FullLinkTest, S000_45_a_sender_without_credits_is_refused_and_keeps_everything) {
  Wire w;
  w.b_sink.holds = 1;
  unsigned posted = 0;
  for (int i = 0; i < 2000; ++i) {
    while (w.a.post(0, pattern(1000, posted))) ++posted;
    w.pump();
  }
  EXPECT_LT(posted, 100U);
  w.b_sink.release_all();
  w.pump();
  ASSERT_EQ(w.b_sink.got.size(), posted);
  for (unsigned i = 0; i < posted; ++i) EXPECT_EQ(w.b_sink.got[i].cell, pattern(1000, i));
}

TEST(FullLinkTest, S000_42_cells_of_one_lane_are_not_interleaved_and_lanes_leave_in_order) {
  Wire w;
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_TRUE(w.a.post(0, pattern(256, i)));
    ASSERT_TRUE(w.a.post(1, pattern(256, i)));
  }
  std::array<std::byte, 1400> datagram;
  const std::size_t bytes = w.a.fill(w.clock.now(), datagram);
  FlitWalker walker(base::Bytes(datagram).first(bytes));
  std::vector<unsigned> order;
  std::array<bool, 2> has_begun{};  // a cell of the lane, which has two flits
  for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;) {
    order.push_back(flit.header.vl);
    ASSERT_LT(flit.header.vl, has_begun.size());
    bool& is_open = has_begun.at(flit.header.vl);
    EXPECT_EQ((flit.header.ctl & kFlitSof) != 0, !is_open) << order.size();
    EXPECT_EQ((flit.header.ctl & kFlitEof) != 0, is_open) << order.size();
    is_open = !is_open;
  }
  EXPECT_THAT(order, ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
}

TEST(FullLinkTest, S000_41_high_priority_and_management_go_first) {
  FullLinkConfig config;
  config.window = 1024;
  Wire w(config);
  for (unsigned i = 0; i < 60; ++i) ASSERT_TRUE(w.a.post(0, pattern(1000, i)));
  w.carry(w.a, w.b);
  ASSERT_TRUE(w.a.post(3, pattern(64, 1)));
  ASSERT_TRUE(w.a.post(kMgmtLane, pattern(64, 2)));
  std::array<std::byte, 1400> datagram;
  const std::size_t bytes = w.a.fill(w.clock.now(), datagram);
  FlitWalker walker(base::Bytes(datagram).first(bytes));
  FlitView flit;
  ASSERT_EQ(walker.next(flit), FlitWalker::Step::kFlit);
  EXPECT_EQ(flit.header.vl, kMgmtLane);
  ASSERT_EQ(walker.next(flit), FlitWalker::Step::kFlit);
  EXPECT_EQ(flit.header.vl, 3);
}

// Whatever the higher lanes and management send, each lane gets its share of each round.
TEST(FullLinkTest, S000_41_no_lane_starves_another) {
  FullLinkConfig config;
  config.receive_blocks = config.peer_receive_blocks = 4096;
  Wire w(config);
  std::array<std::size_t, kLaneCount> got{};
  for (unsigned i = 0; i < 4000; ++i) {
    for (const std::uint8_t vl :
         {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}, kMgmtLane}) {
      while (w.a.post(vl, pattern(1000, vl))) {
      }
    }
    w.carry(w.a, w.b);
    w.carry(w.b, w.a);
    for (const auto& one : w.b_sink.got) ++got.at(one.vl);
    w.b_sink.got.clear();
  }
  const std::size_t all = got[0] + got[1] + got[2] + got[3] + got[kMgmtLane];
  EXPECT_GT(all, 3000U);
  for (const auto& [vl, share] : {std::pair{0, 8}, {1, 16}, {2, 32}, {3, 64}, {15, 64}}) {
    EXPECT_NEAR(static_cast<double>(got.at(static_cast<std::size_t>(vl))),
                static_cast<double>(all) * share / 184,
                0.1 * static_cast<double>(all) * share / 184)
        << vl;
  }
}

TEST(FullLinkTest, P_LINK_27_the_link_is_dead_after_16_retransmissions) {
  FullLinkConfig config;
  config.idle_missing_max = 100;  // not by silence
  config.first_timeout = config.retry_timeout;
  Wire w(config);
  w.harm = [](std::vector<std::byte>&) { return true; };
  ASSERT_TRUE(w.a.post(0, pattern(64, 1)));
  w.pump();
  w.run(16ms);
  EXPECT_TRUE(w.a.up());
  EXPECT_EQ(w.count(w.a, FullLinkCounter::kTxResend), 16U);
  w.run(1ms);
  EXPECT_FALSE(w.a.up());
  EXPECT_FALSE(w.a.post(0, pattern(64, 1)));
  EXPECT_EQ(w.count(w.a, FullLinkCounter::kDead), 1U);
}

TEST(FullLinkTest, idle_every_10_ms_and_three_missing_take_it_down) {
  Wire w;
  w.run(1s);
  EXPECT_TRUE(w.a.up());
  EXPECT_NEAR(static_cast<double>(w.count(w.a, FullLinkCounter::kTxControl)), 100, 2);
  w.harm = [](std::vector<std::byte>&) { return true; };
  w.run(29ms);
  EXPECT_TRUE(w.a.up());
  w.run(7ms);
  EXPECT_FALSE(w.a.up());
  EXPECT_EQ(w.a.deadline(), base::kNever);
  // A new INIT: everything restarts.
  w.harm = nullptr;
  w.a.start(w.clock.now());
  w.b.start(w.clock.now());
  ASSERT_TRUE(w.a.post(0, pattern(500, 1)));
  w.pump();
  EXPECT_EQ(w.b_sink.got.size(), 1U);
}

TEST(FullLinkTest, what_a_bad_peer_sends_is_counted_and_harms_nothing) {
  Wire w;
  const auto inject = [&](FlitHeader header, std::size_t payload) {
    std::vector<std::byte> flit(kFlitHeaderBytes + payload);
    emit_flit(flit, header, pattern(payload, 1));
    w.give(w.b, flit);
  };
  FlitHeader header;
  header.credit_limit = 256;
  header.lsn = Lsn(1);
  header.ctl = kFlitEof;  // no cell was begun
  inject(header, 64);
  header.lsn = Lsn(2);
  header.ctl = kFlitSof;
  inject(header, 64);
  header.lsn = Lsn(3);
  inject(header, 64);  // begins inside a cell
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropCell), 2U);
  header.ctl = 0;
  for (unsigned i = 0; i < 40; ++i) {  // and never ends
    header.lsn = Lsn(4 + i);
    inject(header, 64);
  }
  EXPECT_GT(w.count(w.b, FullLinkCounter::kRxDropCell), 2U);
  header.lsn = Lsn(44);
  header.vl = 7;  // not open
  inject(header, 64);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropLane), 1U);
  header = {};
  header.type = FlitType::kLack;
  header.ack = Lsn(500);  // nothing was sent
  header.credit_limit = 5000;
  inject(header, 0);
  header.ack = Lsn(0);
  header.credit_limit = 255;  // less than before
  inject(header, 0);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropAck), 1U);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropCredit), 1U);
  EXPECT_TRUE(w.b_sink.got.empty());
  EXPECT_TRUE(w.b.up());
}

TEST(FullLinkTest, S000_43_more_than_was_granted_is_dropped) {
  FullLinkConfig greedy;
  greedy.peer_receive_blocks = 1000;
  Wire w;
  FullLink liar(greedy, w.a_counters, w.a_sink);
  liar.start(w.clock.now());
  w.b_sink.holds = 1;
  for (unsigned i = 0; i < 200; ++i) ASSERT_TRUE(liar.post(0, pattern(128, i)));
  while (w.carry(liar, w.b) || w.carry(w.b, liar)) {
  }
  EXPECT_EQ(w.b_sink.got.size(), 128U);
  EXPECT_EQ(w.count(w.b, FullLinkCounter::kRxDropBuffer), 72U);
}

}  // namespace splitnic::fabric::full_link_test
