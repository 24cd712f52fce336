// Paths that carry less than their interfaces, with and without a report; forged reports.
#include "fabric_emul/link/path_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "link_world.h"

namespace splitnic::fabric::path_probe_test {

using namespace link_world;
using ::testing::ElementsAre;

// Full cells from the client, one each 10 ms.
void send_for(World& w, base::Duration time, std::size_t cell_bytes = 1364 + 40) {
  for (base::Duration at{}; at < time; at += 10ms) {
    for (int i = 0; i < 2; ++i) static_cast<void>(write(w.b->link(), pattern(cell_bytes, 1)));
    w.run(10ms);
  }
}
FaultUnderlay::Predicate longer_than(std::size_t bytes) {
  return [bytes](base::Bytes datagram) { return datagram.size() > bytes; };
}

TEST(PathProbe, L_33_a_black_hole_is_found_within_two_seconds) {
  World w;
  w.connect();
  send_for(w, 1s);
  ASSERT_THAT(w.b->watch.events, ElementsAre("up"));
  w.client_faults.drop_sent(longer_than(1200));
  send_for(w, 2s);
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "narrowed"));
  EXPECT_EQ(w.b->link().mcp(), 1196 - 72);
  EXPECT_EQ(w.b->count(LinkCounter::kNarrowed), 1U);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));  // its own direction is as before
  w.a->cells.clear();
  ASSERT_TRUE(write(w.b->link(), pattern(1124 + 40, 3)));
  w.pump();
  EXPECT_EQ(w.a->cells, Cells{pattern(1124 + 40, 3)});
  // A new INIT keeps what is known, for ten minutes.
  w.client_faults.set_cut(true);
  w.run(2s);
  w.client_faults.set_cut(false);
  w.run(2s);
  ASSERT_TRUE(w.b->link().up());
  EXPECT_EQ(w.b->link().mcp(), 1124);
  EXPECT_EQ(w.b->link().stride(), 1196U);
}

// With an MTU of 9000, frames of 1514 bytes never fill a datagram.
TEST(PathProbe, L_33_datagrams_that_are_not_of_the_full_length_are_missed_as_soon) {
  World w;
  w.connect();
  w.run(1s);
  w.client_faults.drop_sent(longer_than(1000));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(write(w.b->link(), pattern(1100, 1)));
    w.run(100ms);
  }
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "narrowed"));
  EXPECT_EQ(w.b->link().mcp(), 940 - 72);
  // A datagram that passes on all paths which can be found is no reason to probe.
  w.run(1s);
  const std::uint64_t sent = w.b->count(LinkCounter::kTxInit);
  ASSERT_TRUE(write(w.b->link(), pattern(400, 1)));
  w.run(1s);
  EXPECT_EQ(w.b->count(LinkCounter::kTxInit), sent);
}

TEST(PathProbe, L_33_a_path_narrower_than_its_interfaces_is_found_without_traffic) {
  World w;
  w.client_faults.drop_sent(longer_than(1200));
  w.listener_faults.drop_sent(longer_than(1200));
  w.connect();
  w.run(700ms);
  for (End* end : {w.a.get(), w.b.get()}) {
    EXPECT_THAT(end->watch.events, ElementsAre("up", "narrowed"));
    EXPECT_EQ(end->link().mcp(), 1196 - 72);
  }
}

TEST(PathProbe, L_33_a_report_makes_the_search_short) {
  World w;
  w.connect();
  send_for(w, 1s);
  w.client_faults.drop_sent(longer_than(1200));
  w.client_faults.report_too_long();
  send_for(w, 700ms);
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "narrowed"));
  EXPECT_EQ(w.b->link().mcp(), 1196 - 72);
}

// The end that sends nothing long learns from the probes of the other one.
TEST(PathProbe, L_33_one_end_that_finds_less_has_the_other_probe) {
  World w;
  w.connect();
  send_for(w, 1s);
  w.client_faults.drop_sent(longer_than(1200));
  w.listener_faults.drop_sent(longer_than(1200));
  send_for(w, 2200ms);
  for (End* end : {w.a.get(), w.b.get()}) {
    EXPECT_THAT(end->watch.events, ElementsAre("up", "narrowed"));
    EXPECT_EQ(end->link().mcp(), 1196 - 72);
  }
}

// Queue pairs of the listening end still have the longer cells of the path before.
TEST(PathProbe, L_33_the_listening_end_reports_that_a_client_moved_to_a_narrower_path) {
  World w;
  w.connect();
  const std::uint16_t before = w.a->link().mcp();
  w.hub.set_datagram_bytes_max(1000);
  End moved(w.hub.add_endpoint(), config_of(0xB, 200));
  moved.port.connect(w.listener_at.address(), w.clock.now());
  for (int i = 0; i < 3; ++i) {
    w.pump();
    moved.receive(w.clock.now());
  }
  ASSERT_THAT(moved.watch.events, ElementsAre("up"));
  EXPECT_LT(w.a->link().mcp(), before);
  EXPECT_EQ(w.a->link().mcp(), moved.link().mcp());
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "narrowed"));
}

TEST(PathProbe, H_6_a_report_of_a_path_that_is_wide_changes_nothing) {
  World w;
  w.connect();
  w.run(1s);
  const std::uint64_t before = w.b->count(LinkCounter::kTxInit);
  for (int i = 0; i < 500; ++i) {
    w.client_faults.report_too_long();
    send_for(w, 10ms);
  }
  EXPECT_EQ(w.a->cells.size(), 1000U) << "none is lost";
  EXPECT_EQ(w.b->count(LinkCounter::kNarrowed), 0U);
  EXPECT_EQ(w.b->link().mcp(), 1364);
  EXPECT_THAT(w.b->watch.events, ElementsAre("up"));
  // A round of two probes each 50 ms, however many reports there are.
  EXPECT_GT(w.b->count(LinkCounter::kTxInit), before + 50);
  EXPECT_LE(w.b->count(LinkCounter::kTxInit), before + 2 * (5000 / 50 + 1));
}

TEST(PathProbe, L_33_again_when_it_narrows_further) {
  World w;
  w.connect();
  w.client_faults.drop_sent(longer_than(1200));
  send_for(w, 2s);
  w.client_faults.drop_sent(longer_than(600));
  send_for(w, 2s, 1124 + 40);
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "narrowed", "narrowed"));
  EXPECT_EQ(w.b->link().mcp(), 492 - 72);
}

TEST(PathProbe, H_6_random_loss_is_no_narrow_path_whatever_is_reported) {
  for (const bool is_reported : {false, true}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      World w;
      w.random = base::SeededRandom(seed);
      w.connect();
      w.client_faults.set_config({.loss_ppm = 200'000, .delay = 20ms});
      w.listener_faults.set_config({.loss_ppm = 200'000, .delay = 200ms});  // replies come late
      for (base::Duration at{}; at < 60s; at += 10ms) {
        if (is_reported) w.client_faults.report_too_long();
        send_for(w, 10ms);
      }
      EXPECT_EQ(w.b->count(LinkCounter::kNarrowed), 0U) << seed;
      EXPECT_EQ(w.b->link().mcp(), 1364);
    }
  }
}

TEST(PathProbe, silence_is_no_narrow_path) {
  World w;
  w.connect();
  send_for(w, 100ms);
  w.client_faults.set_cut(true);
  send_for(w, 5s);
  w.client_faults.set_cut(false);
  w.run(5s);
  EXPECT_TRUE(w.b->link().up());
  EXPECT_EQ(w.b->count(LinkCounter::kNarrowed), 0U);
}

TEST(PathProbe, nothing_is_probed_while_nothing_long_is_sent) {
  World w;
  w.connect();
  w.run(1s);  // the run that follows each INIT
  const std::uint64_t before = w.b->count(LinkCounter::kTxInit);
  send_for(w, 2s, 200);  // two of them in a datagram
  EXPECT_EQ(w.b->count(LinkCounter::kTxInit), before);
  send_for(w, 2s);
  EXPECT_GT(w.b->count(LinkCounter::kTxInit), before);
  EXPECT_LT(w.b->count(LinkCounter::kTxInit), before + 30);
  EXPECT_EQ(w.b->count(LinkCounter::kRxDropInit), 0U);
}

// Reports bring rounds no closer together than 50 ms, and none is left out.
TEST(PathProbe, H_6_a_run_in_a_hurry_has_all_its_rounds) {
  base::SeededRandom random(1);
  base::ManualClock clock;
  PathProbe probe;
  probe.start(1436);
  probe.hurry(clock.now());
  EXPECT_EQ(probe.deadline(), clock.now());
  int rounds = 0;
  for (base::Time begun = clock.now(); probe.deadline() != base::kNever; ++rounds) {
    ASSERT_LT(rounds, 20);
    for (const PathProbe::Probe& p : probe.on_time(clock.now(), random)) {
      if (p.datagram_bytes <= 940) probe.on_reply(p.nonce);
    }
    probe.hurry(clock.now());
    if (probe.take_narrowed() == 940U) break;
    ASSERT_EQ(probe.deadline(), begun + 50ms * (rounds + 1));
    clock.set(probe.deadline());
  }
  EXPECT_EQ(rounds, 12);
}

TEST(PathProbe, replies_to_old_probes_are_ignored) {
  base::SeededRandom random(1);
  base::ManualClock clock;
  PathProbe probe;
  probe.start(1436);
  EXPECT_EQ(probe.deadline(), base::kNever);
  probe.on_long_sent(clock.now());
  clock.set(probe.deadline());
  const std::uint64_t old = probe.on_time(clock.now(), random)[0].nonce;
  probe.start(1436);
  probe.on_long_sent(clock.now());
  for (int round = 0; probe.deadline() != base::kNever; ++round) {
    ASSERT_LT(round, 20);
    clock.set(probe.deadline());
    for (const PathProbe::Probe& p : probe.on_time(clock.now(), random)) {
      if (p.datagram_bytes <= 1336) probe.on_reply(p.nonce);
    }
    probe.on_reply(old);
  }
  EXPECT_EQ(probe.take_narrowed(), 1336U);
  EXPECT_EQ(probe.take_narrowed(), std::nullopt);
}

// Flits that were lost are retransmitted in datagrams that pass, on the same link.
TEST(PathProbe, L_33_datagrams_of_the_full_profile_become_shorter_where_long_ones_are_swallowed) {
  PortConfig listener = config_of(0xA, 100, true);
  PortConfig client = config_of(0xB, 200);
  for (PortConfig* config : {&listener, &client}) {
    config->profile = LinkProfile::kFull;
    config->full = full_between_processes();
  }
  World w({}, listener, client);
  w.connect();
  w.run(1s);
  EXPECT_EQ(w.b->link().stride(), 1436U);
  w.client_faults.drop_sent(longer_than(1200));
  Cells sent;
  for (unsigned i = 0; i < 100; ++i) {
    sent.push_back(pattern(256, i));
    ASSERT_TRUE(write(w.b->link(), sent.back()));
  }
  w.pump();
  EXPECT_LT(w.a->cells.size(), 100U);
  w.run(2s);
  EXPECT_EQ(w.b->link().stride(), 1196U);
  EXPECT_EQ(w.b->count(LinkCounter::kNarrowed), 1U);
  EXPECT_THAT(w.b->watch.events, ElementsAre("up"));
  EXPECT_EQ(w.a->cells, sent);
}

}  // namespace splitnic::fabric::path_probe_test
