// Cells through batches: equal strides, filler, bounds, drops, back pressure. [S000-39] 3.8
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_pair.h"

namespace splitnic::fabric::link_cells_test {

using namespace link_world;
using ::testing::ElementsAre;

TEST(LinkCellsTest, S000_39_many_small_cells_share_a_datagram) {
  Pair p;
  Cells sent;
  for (unsigned i = 0; i < 100; ++i) {
    sent.push_back(pattern(64, i));
    ASSERT_TRUE(write(p.link(), sent.back()));
  }
  EXPECT_TRUE(p.recorder.calls.empty());  // nothing leaves before flush
  p.b.port.flush(p.now);
  ASSERT_EQ(p.recorder.calls.size(), 1U);
  const auto& call = p.recorder.calls[0];
  EXPECT_EQ(call.stride, 1436U);
  // 17 flits of 80 bytes fit into 1436; the last datagram is shorter.
  EXPECT_EQ(call.bytes.size(), 5 * 1436U + 15 * 80U);
  p.pump();
  EXPECT_EQ(p.a.cells, sent);
  EXPECT_THAT(p.a.batches, ElementsAre(100U));
  EXPECT_EQ(p.a.count(LinkCounter::kRxDatagram), 6U + 2U);  // and two of INIT
}

TEST(LinkCellsTest, S000_39_the_rest_of_a_datagram_is_zero_filler) {
  Pair p;
  // Leaves old bytes in the buffer, so that filler which is not written shows.
  ASSERT_TRUE(write(p.link(), std::vector<std::byte>(1420, std::byte{0xFF})));
  p.b.port.flush(p.now);
  p.recorder.calls.clear();
  for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(write(p.link(), pattern(1000, i)));
  p.b.port.flush(p.now);
  const auto& bytes = p.recorder.calls.at(0).bytes;
  ASSERT_EQ(bytes.size(), 1436U + 1016U);
  for (std::size_t i = 1016; i < 1436; ++i) ASSERT_EQ(bytes[i], std::byte{0}) << i;
  p.pump();
  EXPECT_EQ(p.a.cells.size(), 3U);
}

TEST(LinkCellsTest, full_cells_fill_their_datagrams_and_calls_of_45) {
  Pair p;
  Cells sent;
  for (unsigned i = 0; i < 100; ++i) {
    sent.push_back(pattern(1420, i));  // MCP and every header: exactly one stride
    ASSERT_TRUE(write(p.link(), sent.back()));
  }
  p.b.port.flush(p.now);
  ASSERT_EQ(p.recorder.calls.size(), 3U);
  EXPECT_EQ(p.recorder.calls[0].bytes.size(), 45 * 1436U);
  EXPECT_EQ(p.recorder.calls[1].bytes.size(), 45 * 1436U);
  EXPECT_EQ(p.recorder.calls[2].bytes.size(), 10 * 1436U);
  p.pump();
  EXPECT_EQ(p.a.cells, sent);
  EXPECT_THAT(p.a.batches, ElementsAre(45U, 45U, 10U));
}

TEST(LinkCellsTest, a_call_has_at_most_64_datagrams) {
  Pair p({}, 256);
  for (unsigned i = 0; i < 130; ++i) ASSERT_TRUE(write(p.link(), pattern(300, i)));
  p.b.port.flush(p.now);
  ASSERT_EQ(p.recorder.calls.size(), 3U);
  EXPECT_EQ(p.recorder.calls[0].stride, 328U);
  EXPECT_EQ(p.recorder.calls[0].bytes.size(), 63 * 328U + 316U);
  p.pump();
  EXPECT_EQ(p.a.cells.size(), 130U);
}

TEST(LinkCellsTest, X_46_a_cell_beyond_the_stride_goes_alone) {
  Pair p({}, 256, false);
  const Cells sent{pattern(64, 1), pattern(1056, 2), pattern(1056, 3), pattern(64, 4)};
  for (const auto& cell : sent) ASSERT_TRUE(write(p.link(), cell));
  p.b.port.flush(p.now);
  ASSERT_EQ(p.recorder.calls.size(), 4U);
  EXPECT_EQ(p.recorder.calls[1].bytes.size(), 1072U);
  EXPECT_EQ(p.recorder.calls[3].stride, 328U);
  p.pump();
  EXPECT_EQ(p.a.cells, sent);
}

TEST(LinkCellsTest, flits_are_those_of_the_speed_profile) {
  Pair p;
  base::MutableBytes room = p.link().reserve(44, 3);
  ASSERT_EQ(room.size(), 44U);
  p.link().commit(44);
  p.b.port.flush(p.now);
  FlitView flit;
  ASSERT_EQ(parse_flit(p.recorder.calls.at(0).bytes, flit), FlitError::kNone);
  EXPECT_EQ(flit.header.type, FlitType::kData);
  EXPECT_EQ(flit.header.vl, 3);
  EXPECT_EQ(flit.header.ctl, 0xE0);
  EXPECT_EQ(flit.header.lsn, Lsn());
  EXPECT_EQ(flit.header.ack, Lsn());
  EXPECT_EQ(flit.header.credit_limit, 0U);
  EXPECT_EQ(flit.payload.size(), 44U);
}

TEST(LinkCellsTest, commit_takes_less_than_was_reserved_or_nothing) {
  Pair p;
  ASSERT_EQ(p.link().reserve(1400).size(), 1400U);
  p.link().commit(0);
  const auto cell = pattern(40, 5);
  const base::MutableBytes room = p.link().reserve(1400);
  std::memcpy(room.data(), cell.data(), cell.size());
  p.link().commit(cell.size());
  p.b.port.flush(p.now);
  EXPECT_EQ(p.recorder.calls.at(0).bytes.size(), 56U);
  p.pump();
  EXPECT_EQ(p.a.cells, Cells{cell});
  p.link().reserve(100);
  EXPECT_DEATH(p.link().commit(101), "");
}

TEST(LinkCellsTest, both_directions_at_once) {
  Pair p;
  for (unsigned i = 0; i < 10; ++i) {
    ASSERT_TRUE(write(p.b.link(), pattern(100, i)));
    ASSERT_TRUE(write(p.a.link(), pattern(200, i)));
  }
  p.a.port.flush(p.now);
  p.b.port.flush(p.now);
  p.pump();
  EXPECT_EQ(p.a.cells.size(), 10U);
  EXPECT_EQ(p.b.cells.size(), 10U);
  EXPECT_EQ(p.b.cells[9], pattern(200, 9));
}

TEST(LinkCellsTest, corrupted_flit_headers_are_dropped_and_counted) {
  const auto good = flit_of(data_header(), pattern(64, 1));
  for (std::size_t bit = 0; bit < kFlitHeaderBytes * 8; ++bit) {
    Pair p;
    auto bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    p.b_at.send(p.a_at.address(), bad, bad.size());
    p.pump();
    EXPECT_TRUE(p.a.cells.empty()) << bit;
    const std::uint64_t drops = p.a.count(LinkCounter::kRxDropCrc) +
                                p.a.count(LinkCounter::kRxDropSize) +
                                p.a.count(LinkCounter::kRxDropSession);
    EXPECT_EQ(drops, 1U) << bit;
  }
}

TEST(LinkCellsTest, a_bad_flit_costs_the_rest_of_its_datagram_and_nothing_else) {
  Pair p;
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned j = 0; j < 17; ++j) ASSERT_TRUE(write(p.link(), pattern(64, i)));
  }
  p.b.port.flush(p.now);
  auto call = p.recorder.calls.at(0);
  p.a_at.clear();
  call.bytes[1436 + 80 + 12] ^= std::byte{1};  // second flit of the second datagram
  p.b_at.send(p.a_at.address(), call.bytes, call.stride);
  p.pump();
  EXPECT_EQ(p.a.cells.size(), 17U + 1U + 17U);
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropCrc), 1U);
}

TEST(LinkCellsTest, every_truncation_is_survived) {
  const auto good = flit_of(data_header(), pattern(64, 1));
  Pair p;
  for (std::size_t bytes = 1; bytes < good.size(); ++bytes) {
    p.b_at.send(p.a_at.address(), base::Bytes(good).first(bytes), bytes);
    p.pump();
  }
  EXPECT_TRUE(p.a.cells.empty());
  // Fewer bytes than a flit header are filler.
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropSize), good.size() - kFlitHeaderBytes);
}

TEST(LinkCellsTest, flits_that_have_no_place_here_are_counted_by_name) {
  Pair p;
  const auto inject = [&](FlitHeader header, std::size_t payload) {
    const auto flit = flit_of(header, pattern(payload, 3));
    p.b_at.send(p.a_at.address(), flit, flit.size());
    p.pump();
  };
  FlitHeader header = data_header();
  header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly | kFlitCellCrcHeadOnly;  // not agreed
  inject(header, 64);
  header.ctl = kFlitSof | kFlitHeaderCrcOnly | kFlitCellCrcHeadOnly;  // the same of a fragment
  inject(header, 64);
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropCtl), 2U);
  inject(data_header(), kCellBytesMin - 1);
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropSize), 1U);
  for (const FlitType type : {FlitType::kLack, FlitType::kLnak, FlitType::kCredit}) {
    header = {};
    header.type = type;
    inject(header, 0);
  }
  header.type = static_cast<FlitType>(7);
  inject(header, 0);
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropType), 4U);
  EXPECT_TRUE(p.a.cells.empty());
  // A full CRC is no harm.
  header = data_header();
  header.ctl = kFlitSof | kFlitEof;
  inject(header, 64);
  EXPECT_EQ(p.a.cells.size(), 1U);
}

TEST(LinkCellsTest, datagrams_of_the_session_layer_are_left_alone) {
  Pair p;
  const std::vector<std::byte> sealed(200, std::byte{0x80});
  p.b_at.send(p.a_at.address(), sealed, sealed.size());
  p.pump();
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropSession), 1U);
}

TEST(LinkCellsTest, cells_of_strangers_and_of_links_not_up_are_dropped) {
  Pair p;
  InProcessUnderlay& stranger = p.hub.add_endpoint();
  const auto flit = flit_of(data_header(), pattern(64, 1));
  stranger.send(p.a_at.address(), flit, flit.size());
  p.pump();
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropPeer), 1U);
  // A client whose peer has not sent READY yet.
  End c(stranger, config_of(0xC, 300));
  stranger.clear();
  c.port.connect(p.a_at.address(), p.now);
  p.a_at.send(stranger.address(), flit, flit.size());
  c.receive(p.now);
  EXPECT_EQ(c.count(LinkCounter::kRxDropState), 1U);
  EXPECT_TRUE(c.cells.empty());
}

TEST(LinkCellsTest, a_batch_of_the_smallest_cells_is_taken_whole) {
  Pair p;
  const auto flit = flit_of(data_header(), pattern(kCellBytesMin, 1));
  std::vector<std::byte> batch;
  while (batch.size() + flit.size() <= 65000) batch.insert(batch.end(), flit.begin(), flit.end());
  p.b_at.send(p.a_at.address(), batch, 1440);
  p.pump();
  EXPECT_EQ(p.a.cells.size(), 65000U / 48U);
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropOverflow), 0U);
}

TEST(LinkCellsTest, a_blocked_underlay_keeps_the_batch_and_resumes) {
  Pair p;
  p.recorder.result = Underlay::SendStatus::kBlocked;
  unsigned taken = 0;
  while (write(p.link(), pattern(1420, taken))) ++taken;
  EXPECT_EQ(taken, 45U);  // one batch
  EXPECT_TRUE(p.link().blocked());
  EXPECT_TRUE(p.b.port.wants_write());
  p.b.port.flush(p.now);
  EXPECT_TRUE(p.b.port.wants_write());
  EXPECT_EQ(p.b.count(LinkCounter::kTxBlocked), 1U);
  p.recorder.result = Underlay::SendStatus::kSent;
  p.b.port.on_writable(p.now);
  EXPECT_FALSE(p.b.port.wants_write());
  EXPECT_FALSE(p.link().blocked());
  ASSERT_TRUE(write(p.link(), pattern(1420, taken)));
  p.b.port.flush(p.now);
  p.pump();
  ASSERT_EQ(p.a.cells.size(), 46U);
  for (unsigned i = 0; i < 46; ++i) EXPECT_EQ(p.a.cells[i], pattern(1420, i)) << i;
}

TEST(LinkCellsTest, a_full_queue_in_the_hub_blocks_and_loses_nothing) {
  Pair p({.batch_queue_max = 2});
  unsigned taken = 0;
  while (write(p.link(), pattern(1420, taken))) ++taken;
  EXPECT_EQ(taken, 3 * 45U);
  while (p.b.port.wants_write()) {
    p.a.receive(p.now);
    p.b.port.on_writable(p.now);
  }
  p.a.receive(p.now);
  EXPECT_EQ(p.a.cells.size(), taken);
}

TEST(LinkCellsTest, a_refused_batch_is_lost_and_the_link_continues) {
  Pair p;
  ASSERT_TRUE(write(p.link(), pattern(64, 1)));
  p.recorder.result = Underlay::SendStatus::kRefused;
  p.b.port.flush(p.now);
  EXPECT_EQ(p.b.count(LinkCounter::kTxDropRefused), 1U);
  p.recorder.result = Underlay::SendStatus::kSent;
  ASSERT_TRUE(write(p.link(), pattern(64, 2)));
  p.b.port.flush(p.now);
  p.pump();
  EXPECT_EQ(p.a.cells, Cells{pattern(64, 2)});
}

TEST(LinkCellsTest, a_path_that_narrows_is_reported_and_smaller_cells_pass) {
  Pair p;
  p.hub.set_datagram_bytes_max(1372);
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(write(p.link(), pattern(1420, i)));
  p.b.port.flush(p.now);
  EXPECT_EQ(p.b.count(LinkCounter::kTxDropTooLong), 1U);
  EXPECT_EQ(p.b.watch.events.back(), "narrowed");
  EXPECT_EQ(p.link().mcp(), 1264);
  EXPECT_TRUE(p.link().up());
  // Cells of the old length pass in fragments, new ones whole.
  ASSERT_TRUE(write(p.link(), pattern(1420, 7)));
  ASSERT_TRUE(write(p.link(), pattern(1320, 8)));
  p.b.port.flush(p.now);
  p.pump();
  EXPECT_EQ(p.a.cells, (Cells{pattern(1420, 7), pattern(1320, 8)}));
  EXPECT_EQ(p.b.count(LinkCounter::kTxFragment), 2U);
}

// The interface is as wide as before, so the refusal may follow from what anybody can send.
TEST(LinkCellsTest, H_6_a_refusal_alone_narrows_nothing_and_has_the_path_probed_at_once) {
  Pair p;
  p.b.port.on_time(p.now);
  p.pump();
  p.b.port.on_time(p.now + 50ms);
  ASSERT_GT(p.b.port.deadline(), p.now + 60ms) << "the run that follows INIT is over";
  p.recorder.result = Underlay::SendStatus::kTooLong;
  ASSERT_TRUE(write(p.link(), pattern(1420, 1)));
  p.b.port.flush(p.now + 60ms);
  EXPECT_EQ(p.b.count(LinkCounter::kTxDropTooLong), 1U);
  EXPECT_EQ(p.b.count(LinkCounter::kNarrowed), 0U);
  EXPECT_THAT(p.b.watch.events, ElementsAre("up"));
  EXPECT_EQ(p.link().mcp(), 1364);
  EXPECT_EQ(p.b.port.deadline(), p.now + 60ms);
}

TEST(LinkCellsTest, cells_of_the_old_instance_never_reach_the_new_one) {
  Pair p;
  ASSERT_TRUE(write(p.a.link(), pattern(64, 1)));  // waits at a for the old instance of b
  End again(p.b_at, config_of(0xB, 201));
  p.b_at.clear();
  again.port.connect(p.a_at.address(), p.now);
  for (int i = 0; i < 3; ++i) {
    p.a.receive(p.now);
    again.receive(p.now);
  }
  p.a.port.flush(p.now);
  again.receive(p.now);
  EXPECT_TRUE(again.link().up());
  EXPECT_TRUE(again.cells.empty());
  EXPECT_EQ(p.a.count(LinkCounter::kTxDropDown), 1U);
}

TEST(LinkCellsTest, shm_profile_marks_its_cells) {
  PortConfig a = config_of(0xA, 100, true);
  PortConfig b = config_of(0xB, 200);
  a.crc_head_only = b.crc_head_only = true;
  World w({}, a, b);
  w.connect();
  EXPECT_TRUE(w.b->link().crc_head_only());
  ASSERT_TRUE(write(w.b->link(), pattern(64, 1)));
  w.b->port.flush(w.clock.now());
  bool marked = false;
  w.a->port.receive(w.clock.now(), 1, [&](Link&, std::span<const ReceivedCell> cells) {
    marked = cells[0].crc_head_only;
  });
  EXPECT_TRUE(marked);
}

TEST(LinkCellsTest, a_second_buffer_is_not_made_per_cell) {
  Pair p;
  const std::byte* first = p.link().reserve(64).data();
  p.link().commit(0);
  for (unsigned i = 0; i < 1000; ++i) ASSERT_TRUE(write(p.link(), pattern(1420, i)));
  p.b.port.flush(p.now);
  EXPECT_EQ(p.link().reserve(64).data(), first);
}

TEST(LinkCellsTest, counters_have_distinct_names) {
  Pair p;
  std::vector<std::string> names;
  p.a.port.counters().visit(
      [&](std::string_view name, std::uint64_t) { names.emplace_back(name); });
  EXPECT_EQ(names.front(), "link.tx.flit");
  EXPECT_THAT(names, ::testing::Each(::testing::StartsWith("link.")));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace splitnic::fabric::link_cells_test
