// Cells that are longer than the path carries, in fragments. [L-33]
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "link_pair.h"

namespace splitnic::fabric::link_fragments_test {

using namespace link_world;
using link_cells_test::data_header;
using link_cells_test::flit_of;
using link_cells_test::Pair;
using ::testing::ElementsAre;

// b, the client, has found that its path carries datagrams of 536 bytes, 500 without the reserve.
struct NarrowPair : Pair {
  NarrowPair() {
    hub.set_datagram_bytes_max(536);
    EXPECT_TRUE(write(b.link(), pattern(1420, 1)));
    b.port.flush(now);
    EXPECT_THAT(b.watch.events, ElementsAre("up", "narrowed"));
    EXPECT_EQ(b.link().stride(), 500U);
    recorder.calls.clear();
    a.batches.clear();
  }
  // A fragment as b may send it.
  void inject(const Fragment& fragment, std::uint8_t ends, base::Bytes payload,
              std::uint8_t vl = 0) {
    FlitHeader header;
    header.vl = vl;
    header.ctl = static_cast<std::uint8_t>(kFlitHeaderCrcOnly | ends);
    set_fragment(header, fragment);
    const auto flit = flit_of(header, {payload.begin(), payload.end()});
    ASSERT_EQ(b_at.send(a_at.address(), flit, flit.size()), Underlay::SendStatus::kSent);
    pump();
  }
};

TEST(LinkFragmentsTest, L_33_a_longer_cell_arrives_whole_and_others_as_before) {
  NarrowPair p;
  EXPECT_TRUE(p.b.link().uses_fragments());
  const Cells sent{pattern(64, 1), pattern(1420, 2), pattern(484, 3), pattern(485, 4),
                   pattern(1044, 5)};
  for (const auto& cell : sent) ASSERT_TRUE(write(p.link(), cell));
  p.b.port.flush(p.now);
  p.pump();
  EXPECT_EQ(p.a.cells, sent);
  EXPECT_EQ(p.b.count(LinkCounter::kTxFragment), 3U + 2U + 3U);
  EXPECT_EQ(p.a.count(LinkCounter::kRxFragment), 8U);
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropFragment), 0U);
}

TEST(LinkFragmentsTest, P_LINK_41_a_fragment_has_the_number_of_its_cell_and_its_place_there) {
  NarrowPair p;
  for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(write(p.link(), pattern(1000, i), 3));
  p.b.port.flush(p.now);
  ASSERT_EQ(p.recorder.calls.size(), 1U);
  EXPECT_EQ(p.recorder.calls[0].stride, 500U);
  std::vector<FlitHeader> headers;
  base::Bytes rest = p.recorder.calls[0].bytes;
  while (!rest.empty()) {
    FlitWalker walker(rest.first(std::min<std::size_t>(500, rest.size())));
    for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;)
      headers.push_back(flit.header);
    rest = rest.subspan(std::min<std::size_t>(500, rest.size()));
  }
  ASSERT_EQ(headers.size(), 6U);
  const std::uint8_t ends[] = {kFlitSof, 0, kFlitEof};
  for (std::size_t i = 0; i < headers.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(headers[i].vl, 3);
    EXPECT_EQ(headers[i].ctl, kFlitHeaderCrcOnly | ends[i % 3]);
    EXPECT_EQ(headers[i].size, i % 3 == 2 ? 1000 - 2 * 484 : 484);
    EXPECT_EQ(headers[i].lsn.value, headers[0].lsn.value + i / 3);
    EXPECT_EQ(headers[i].ack, Lsn(static_cast<std::uint16_t>(i % 3 * 121)));
    EXPECT_EQ(headers[i].credit_limit, 0U);
  }
}

// Each is sent by a peer that does not do as it should, or over a path that repeats and reorders.
TEST(LinkFragmentsTest, P_LINK_42_only_what_follows_is_taken) {
  const auto cell = pattern(300, 1);
  const base::Bytes all(cell);
  struct Step {
    Fragment fragment;
    std::uint8_t ends;
    std::size_t from, bytes;
    std::uint8_t vl = 0;
  };
  struct Case {
    const char* name;
    std::vector<Step> steps;
    bool arrives;
    std::uint64_t drops;
  };
  const Step first{{7, 0}, kFlitSof, 0, 100};
  const Step middle{{7, 100}, 0, 100, 100};
  const Step last{{7, 200}, kFlitEof, 200, 100};
  const std::vector<Case> cases{
      {"in order", {first, middle, last}, true, 0},
      {"one comes twice", {first, first, middle, middle, last}, true, 2},
      {"the last comes twice", {first, middle, last, last}, true, 1},
      {"one is missing", {first, last}, false, 1},
      {"two are exchanged", {middle, first, last}, false, 2},
      {"of another cell", {first, {{8, 100}, 0, 100, 100}, last}, false, 2},
      {"on another lane", {first, {{7, 100}, 0, 100, 100, 1}, last}, false, 2},
      {"the first has a place inside", {{{7, 100}, kFlitSof, 0, 100}, middle, last}, false, 3},
      {"without the first", {middle, last}, false, 2},
      {"a new cell begins",
       {first, {{8, 0}, kFlitSof, 0, 100}, {{8, 100}, 0, 100, 100}, {{8, 200}, kFlitEof, 200, 100}},
       true,
       1},
      {"not a multiple of 4", {{{7, 0}, kFlitSof, 0, 99}, {{7, 96}, kFlitEof, 99, 201}}, false, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    NarrowPair p;
    for (const Step& step : c.steps) {
      p.inject(step.fragment, step.ends, all.subspan(step.from, step.bytes), step.vl);
    }
    EXPECT_EQ(p.a.cells, c.arrives ? Cells{cell} : Cells{});
    EXPECT_EQ(p.a.count(LinkCounter::kRxDropFragment), c.drops);
    EXPECT_EQ(p.a.count(LinkCounter::kRxFragment), c.steps.size());
  }
}

TEST(LinkFragmentsTest, L_33_P_LINK_42_no_cell_is_longer_than_the_longest_of_the_link) {
  NarrowPair p;
  const auto cell = pattern(1424, 1);  // MCP 1364 and all headers: 1420
  for (std::size_t at = 0; at < cell.size(); at += 356) {
    const bool is_last = at + 356 == cell.size();
    const std::uint8_t ends = at == 0 ? kFlitSof : is_last ? kFlitEof : std::uint8_t{0};
    p.inject({1, at}, ends, base::Bytes(cell).subspan(at, 356));
  }
  EXPECT_TRUE(p.a.cells.empty());
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropFragment), 1U);
  // Nor is one too short for a cell.
  p.inject({2, 0}, kFlitSof, base::Bytes(cell).first(16));
  p.inject({2, 16}, kFlitEof, base::Bytes(cell).first(12));
  EXPECT_TRUE(p.a.cells.empty());
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropSize), 1U);
}

// A peer of another kind, or one that does not want them.
TEST(LinkFragmentsTest, L_33_P_LINK_40_a_peer_that_has_not_stated_it_gets_none_and_sends_none) {
  for (const bool listener_does : {false, true}) {
    PortConfig listener = config_of(0xA, 100, true);
    PortConfig client = config_of(0xB, 200);
    (listener_does ? client : listener).uses_fragments = false;
    World w({}, listener, client);
    w.connect();
    w.hub.set_datagram_bytes_max(536);
    for (End* end : {w.a.get(), w.b.get()}) {
      EXPECT_FALSE(end->link().uses_fragments());
      ASSERT_TRUE(write(end->link(), pattern(1420, 1)));
      end->port.flush(w.clock.now());
      EXPECT_EQ(end->count(LinkCounter::kTxDropTooLong), 1U);
      ASSERT_TRUE(write(end->link(), pattern(1420, 1)));
      end->port.flush(w.clock.now());
      EXPECT_EQ(end->count(LinkCounter::kTxFragment), 0U);
    }
    w.pump();
    EXPECT_TRUE(w.a->cells.empty() && w.b->cells.empty());
    End& without = listener_does ? *w.b : *w.a;
    InProcessUnderlay& from = listener_does ? w.listener_at : w.client_at;
    InProcessUnderlay& to = listener_does ? w.client_at : w.listener_at;
    FlitHeader header = data_header();
    header.ctl = kFlitSof | kFlitHeaderCrcOnly;
    const auto flit = flit_of(header, pattern(64, 3));
    from.send(to.address(), flit, flit.size());
    w.pump();
    EXPECT_EQ(without.count(LinkCounter::kRxDropCtl), 1U);
  }
}

TEST(LinkFragmentsTest, L_33_a_blocked_underlay_continues_in_the_middle_of_a_cell) {
  NarrowPair p;
  p.recorder.result = Underlay::SendStatus::kBlocked;
  unsigned taken = 0;
  while (write(p.link(), pattern(1420, taken))) ++taken;
  EXPECT_EQ(taken, 22U) << "a batch of 64 datagrams, of which a cell takes three";
  EXPECT_TRUE(p.link().blocked());
  EXPECT_TRUE(p.b.port.wants_write());
  p.b.port.flush(p.now);
  EXPECT_EQ(p.b.count(LinkCounter::kTxFragment), 64U);
  p.recorder.result = Underlay::SendStatus::kSent;
  p.b.port.on_writable(p.now);
  EXPECT_FALSE(p.b.port.wants_write());
  ASSERT_TRUE(write(p.link(), pattern(1420, taken++)));
  p.b.port.flush(p.now);
  p.pump();
  ASSERT_EQ(p.a.cells.size(), taken);
  for (unsigned i = 0; i < taken; ++i) EXPECT_EQ(p.a.cells[i], pattern(1420, i)) << i;
}

TEST(LinkFragmentsTest, L_33_a_link_that_goes_down_forgets_the_parts_that_have_come) {
  NarrowPair p;
  p.inject({9, 0}, kFlitSof, pattern(100, 1));
  p.b.port.send_bye(p.now);
  p.pump();
  EXPECT_EQ(p.a.count(LinkCounter::kRxDropFragment), 1U);
}

// An end that wants short cells still sends and takes the longer ones of MGMT.
TEST(LinkFragmentsTest, X_46_a_cell_of_mgmt_is_longer_than_the_mcp) {
  Pair p({}, 64);
  const Cells sent{pattern(64, 1), pattern(1056, 2), pattern(64, 3)};
  for (const auto& cell : sent) ASSERT_TRUE(write(p.link(), cell));
  p.b.port.flush(p.now);
  p.pump();
  EXPECT_EQ(p.a.cells, sent);
  EXPECT_EQ(p.b.count(LinkCounter::kTxFragment), 9U);
}

// The rest of a cell that waited belongs to no other cell.
TEST(LinkFragmentsTest, a_link_that_falls_silent_forgets_the_rest_of_a_cell) {
  NarrowPair p;
  p.recorder.result = Underlay::SendStatus::kBlocked;
  while (write(p.link(), pattern(1420, 1))) {
  }
  p.b.port.on_time(p.now + 2s);
  ASSERT_FALSE(p.link().up());
  p.recorder.result = Underlay::SendStatus::kSent;
  p.a.port.on_time(p.now + 300ms);  // IDLE
  p.b.receive(p.now + 2s);
  ASSERT_TRUE(p.link().up());
  ASSERT_TRUE(write(p.link(), pattern(1420, 2)));
  p.b.port.flush(p.now + 2s);
  p.pump();
  EXPECT_EQ(p.a.cells, Cells{pattern(1420, 2)});
}

TEST(LinkFragmentsTest, commit_takes_less_than_was_reserved_or_nothing) {
  NarrowPair p;
  ASSERT_EQ(p.link().reserve(1400).size(), 1400U);
  p.link().commit(0);
  ASSERT_EQ(p.link().reserve(1400).size(), 1400U);
  ASSERT_TRUE(write(p.link(), pattern(64, 1)));  // in place of it
  const auto cell = pattern(100, 2);
  std::ranges::copy(cell, p.link().reserve(1400).begin());
  p.link().commit(cell.size());
  p.b.port.flush(p.now);
  p.pump();
  EXPECT_EQ(p.a.cells, (Cells{pattern(64, 1), cell}));
  EXPECT_EQ(p.b.count(LinkCounter::kTxFragment), 0U);
}

// Whatever the path does, what arrives is a cell that was sent.
TEST(LinkFragmentsTest, L_33_a_path_that_loses_repeats_and_reorders_mixes_no_cells) {
  World w({}, config_of(0xA, 100, true), config_of(0xB, 200));
  w.connect();
  w.hub.set_datagram_bytes_max(536);
  ASSERT_TRUE(write(w.b->link(), pattern(1420, 0)));
  w.b->port.flush(w.clock.now());
  w.listener_faults.set_config(
      {.loss_ppm = 30'000, .duplicate_ppm = 30'000, .reorder_ppm = 30'000, .reorder_delay = 300us});
  std::set<std::vector<std::byte>> sent;
  for (unsigned i = 0; i < 5000; ++i) {
    auto cell = pattern(600 + i * 37 % 800, i);
    base::store_be(cell.data(), i);
    if (write(w.b->link(), cell)) sent.insert(std::move(cell));
    if (i % 7 == 0) w.run(100us, 100us);
  }
  w.run(10ms);
  EXPECT_GT(w.a->cells.size(), 3500U);
  EXPECT_GT(w.a->count(LinkCounter::kRxDropFragment), 300U);
  for (const auto& cell : w.a->cells) ASSERT_TRUE(sent.contains(cell));
}

}  // namespace splitnic::fabric::link_fragments_test
