// Ports in the full profile: what INIT agrees, lanes, credits, retry, keep-alive, a new INIT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "link_world.h"

namespace splitnic::fabric::link_lanes_test {

using namespace link_world;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

PortConfig full(PortConfig config) {
  config.profile = LinkProfile::kFull;
  return config;
}

struct FullWorld : World {
  explicit FullWorld(PortConfig listener = config_of(0xA, 100, true),
                     PortConfig client = config_of(0xB, 200))
      : World({}, full(listener), full(client)) {
    connect();
  }
  std::uint64_t sum(FullLinkCounter which) const {
    return a->port.full_counters()[which] + b->port.full_counters()[which];
  }
};

bool write_lane(Link& link, std::uint8_t vl, const std::vector<std::byte>& cell) {
  const base::MutableBytes room = link.reserve(cell.size(), vl);
  if (room.empty()) return false;
  std::memcpy(room.data(), cell.data(), cell.size());
  link.commit(cell.size());
  return true;
}

TEST(LinkLanes, S000_43_a_cell_crosses_as_flits_of_its_lane) {
  FullWorld w;
  EXPECT_THAT(w.a->watch.events, ElementsAre("up"));
  EXPECT_THAT(w.b->watch.events, ElementsAre("up"));
  EXPECT_EQ(w.b->link().mcp(), 256);
  EXPECT_EQ(w.b->link().lanes(), 4U);
  Cells sent;
  for (unsigned i = 0; i < 50; ++i) {
    sent.push_back(pattern(32 + 5 * i, i));
    ASSERT_TRUE(write_lane(w.b->link(), 2, sent.back()));
    ASSERT_TRUE(write_lane(w.a->link(), 1, sent.back()));
  }
  w.pump();
  EXPECT_EQ(w.a->cells, sent);
  EXPECT_EQ(w.b->cells, sent);
  EXPECT_EQ(w.sum(FullLinkCounter::kRxCell), 100U);
  EXPECT_GT(w.sum(FullLinkCounter::kTxFlit), 150U);
  EXPECT_EQ(w.a->count(LinkCounter::kRxCell), 50U);
}

// Each side offers other lanes and flits: what both can do is done.
TEST(LinkLanes, S000_43_init_takes_the_smaller_flit_and_the_common_lanes) {
  PortConfig listener = config_of(0xA, 100, true);
  listener.full.lanes_mask = 0x8003;
  listener.full.flit_payload_max = 512;
  PortConfig client = config_of(0xB, 200);
  client.full.lanes_mask = 0x800D;
  client.full.flit_payload_max = 200;
  FullWorld w(listener, client);
  EXPECT_EQ(w.a->link().lanes(), 1U);
  EXPECT_EQ(w.b->link().lanes(), 1U);
  EXPECT_EQ(w.b->link().lane_of(3), 0);  // that lane is not open
  ASSERT_TRUE(write(w.b->link(), pattern(300, 1)));
  w.pump();
  EXPECT_EQ(w.a->cells, Cells{pattern(300, 1)});
  EXPECT_EQ(w.b->port.full_counters()[FullLinkCounter::kTxFlit], 2U);  // of 200 bytes
}

TEST(LinkLanes, S004_21_the_table_moves_a_service_level_to_another_lane) {
  PortConfig client = config_of(0xB, 200);
  client.sl_to_vl[5] = 3;
  FullWorld w(config_of(0xA, 100, true), client);
  EXPECT_EQ(w.a->link().lane_of(5), 1);
  EXPECT_EQ(w.b->link().lane_of(5), 3);
  EXPECT_EQ(w.b->link().lane_of(6), 2);
}

TEST(LinkLanes, a_peer_of_another_profile_is_refused) {
  for (const bool client_is_full : {false, true}) {
    PortConfig listener = config_of(0xA, 100, true);
    PortConfig client = config_of(0xB, 200);
    (client_is_full ? client : listener).profile = LinkProfile::kFull;
    World w({}, listener, client);
    w.connect();
    EXPECT_THAT(w.b->watch.events, ElementsAre("refused: profile"));
    EXPECT_THAT(w.a->watch.events, IsEmpty());
  }
  PortConfig without = config_of(0xB, 200);
  without.full.lanes_mask = 0x8002;  // no lane 0
  FullWorld w(config_of(0xA, 100, true), without);
  EXPECT_THAT(w.b->watch.events, ElementsAre("refused: profile"));
}

TEST(LinkLanes, S000_44_harmed_flits_are_retransmitted_and_nothing_is_lost) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    FullWorld w;
    w.random = base::SeededRandom(seed);
    FaultConfig faults;
    faults.loss_ppm = faults.corrupt_ppm = faults.duplicate_ppm = 30'000;
    w.listener_faults.set_config(faults);
    w.client_faults.set_config(faults);
    Cells sent;
    while (sent.size() < 2000) {
      const auto cell = pattern(300, static_cast<unsigned>(sent.size()));
      if (write(w.b->link(), cell)) {
        sent.push_back(cell);
        continue;
      }
      w.run(1ms, 1ms);
    }
    w.run(100ms, 1ms);
    ASSERT_EQ(w.a->cells.size(), sent.size()) << seed;
    EXPECT_EQ(w.a->cells, sent) << seed;
    EXPECT_GT(w.sum(FullLinkCounter::kTxResend), 0U);
    EXPECT_GT(w.a->count(LinkCounter::kRxDropCrc), 0U);
    EXPECT_EQ(w.a->watch.events.size(), 1U);
  }
}

TEST(LinkLanes, idle_every_10_ms_and_three_missing_take_it_down) {
  FullWorld w;
  w.run(1s, 1ms);
  EXPECT_NEAR(static_cast<double>(w.b->count(LinkCounter::kRxIdle)), 100, 10);
  EXPECT_TRUE(w.b->link().up());
  w.client_faults.set_cut(true);
  w.run(24ms, 1ms);
  EXPECT_TRUE(w.a->link().up());
  EXPECT_TRUE(w.b->link().up());
  w.run(12ms, 1ms);
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "down: flit ACK timeout"));
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "down: flit ACK timeout"));
  EXPECT_FALSE(write(w.b->link(), pattern(64, 1)));
  w.run(5s, 1ms);
  w.client_faults.set_cut(false);
  w.run(200ms, 1ms);  // a peer that was up gets HELLO often
  EXPECT_THAT(w.b->watch.events, ElementsAre("up", "down: flit ACK timeout", "up"));
  ASSERT_TRUE(write(w.b->link(), pattern(64, 2)));
  ASSERT_TRUE(write(w.a->link(), pattern(64, 3)));
  w.pump();
  EXPECT_EQ(w.a->cells, Cells{pattern(64, 2)});
  EXPECT_EQ(w.b->cells, Cells{pattern(64, 3)});
  EXPECT_EQ(w.a->count(LinkCounter::kPeerRestart), 0U);
}

// DATA never arrives: the retries run out before the silence is too long.
TEST(LinkLanes, the_link_goes_down_after_16_failures) {
  PortConfig client = config_of(0xB, 200);
  client.full.first_timeout = 1ms;
  FullWorld w(config_of(0xA, 100, true), client);
  w.listener_faults.drop_received([](base::Bytes datagram) { return datagram.size() > 100; });
  ASSERT_TRUE(write(w.b->link(), pattern(128, 1)));
  w.pump();
  w.run(16ms, 1ms);
  EXPECT_TRUE(w.b->link().up());
  EXPECT_EQ(w.sum(FullLinkCounter::kTxResend), 16U);
  w.run(1ms, 1ms);
  ASSERT_GE(w.b->watch.events.size(), 2U);
  EXPECT_EQ(w.b->watch.events[1], "down: flit ACK timeout");
  EXPECT_EQ(w.sum(FullLinkCounter::kDead), 1U);
  w.listener_faults.drop_received({});
  w.run(500ms, 1ms);
  EXPECT_TRUE(w.a->link().up());
  EXPECT_TRUE(w.b->link().up());
}

// Only the client's time passes: the other process waits for a processor.
TEST(LinkLanes, between_processes_a_peer_that_waits_for_a_processor_is_not_dead) {
  PortConfig listener = config_of(0xA, 100, true), client = config_of(0xB, 200);
  listener.full = client.full = full_between_processes();
  FullWorld w(listener, client);
  const auto leave_a_out = [&w](base::Duration time) {
    for (const base::Time end = w.clock.now() + time; w.clock.now() < end;) {
      w.clock.advance(1ms);
      w.b->port.on_time(w.clock.now());
      w.b->port.flush(w.clock.now());
      w.b->receive(w.clock.now());
    }
  };
  ASSERT_TRUE(write(w.b->link(), pattern(64, 1)));
  leave_a_out(800ms);
  EXPECT_TRUE(w.b->link().up());
  w.pump();
  w.run(100ms, 1ms);
  EXPECT_EQ(w.a->cells, Cells{pattern(64, 1)});
  EXPECT_EQ(w.sum(FullLinkCounter::kDead), 0U);
  ASSERT_TRUE(write(w.b->link(), pattern(64, 2)));
  leave_a_out(920ms);
  EXPECT_FALSE(w.b->link().up());
}

// Flits in flight while a link restarts are from before: all of them are dropped.
TEST(LinkLanes, flits_from_before_a_new_init_are_dropped) {
  FullWorld w;
  w.random = base::SeededRandom(3);
  FaultConfig late;
  late.delay = 60ms;  // longer than a silent link stays up
  for (unsigned round = 0; round < 20; ++round) {
    for (unsigned i = 0; i < 10; ++i) {
      if (w.b->watch.link->up()) static_cast<void>(write(w.b->link(), pattern(200, i)));
    }
    w.listener_faults.set_config(round % 2 == 0 ? late : FaultConfig{});
    w.client_faults.set_config(round % 2 == 0 ? late : FaultConfig{});
    w.run(100ms, 1ms);
  }
  w.listener_faults.set_config({});
  w.client_faults.set_config({});
  w.run(1s, 1ms);
  ASSERT_TRUE(w.a->link().up() && w.b->link().up());
  w.a->cells.clear();
  const Cells sent{pattern(200, 77), pattern(250, 78)};
  for (const auto& cell : sent) ASSERT_TRUE(write(w.b->link(), cell));
  w.run(10ms, 1ms);
  EXPECT_EQ(w.a->cells, sent);
  EXPECT_EQ(w.sum(FullLinkCounter::kRxDropBuffer), 0U);
}

TEST(LinkLanes, another_instance_restarts_the_link) {
  FullWorld w;
  ASSERT_TRUE(write(w.b->link(), pattern(64, 1)));
  w.pump();
  w.b = std::make_unique<End>(w.client_faults, full(config_of(0xB, 201)));
  w.connect();
  EXPECT_THAT(w.a->watch.events, ElementsAre("up", "restarted", "up"));
  ASSERT_TRUE(write(w.b->link(), pattern(64, 2)));
  w.pump();
  EXPECT_EQ(w.a->cells, (Cells{pattern(64, 1), pattern(64, 2)}));
}

// A peer made by hand, which releases the buffer of a lane when the test does.
struct HandPeer final : CellSink {
  explicit HandPeer(FullWorld& world)
      : w(world), end(world.hub.add_endpoint()), link(config(), counters, *this) {
    Init hello = offer(InitStep::kHello);
    hello.nonce = 0x00070003;
    send(hello);
    w.pump();
    const Init challenge = take(InitStep::kChallenge);
    Init proof = offer(InitStep::kAnswer);
    proof.nonce = 0x00070009;
    proof.echo = challenge.nonce;
    send(proof);
    w.pump();
    EXPECT_EQ(take(InitStep::kReady).initial_credit, 4096U);
    link.start(w.clock.now(), Lsn(9), Lsn(7));
  }
  static FullLinkConfig config() {
    FullLinkConfig c;
    c.peer_receive_blocks = 4096;
    return c;
  }
  Init offer(InitStep step) const {
    Init init;
    init.step = step;
    init.profile = LinkProfile::kFull;
    init.lanes_mask = 0x800F;
    init.mcp_max = 256;
    init.flit_payload_max = 128;
    init.initial_credit = 256;
    init.eui64 = Eui64(0xD);
    init.instance = 400;
    return init;
  }
  void send(const Init& init) { send_init(end, w.listener_at.address(), init); }
  Init take(InitStep step) {
    Init init;
    while (const auto batch = end.receive()) {
      FlitView flit;
      EXPECT_EQ(parse_flit(batch->bytes, flit), FlitError::kNone);
      EXPECT_EQ(parse_init(flit.payload, init), InitError::kNone);
      if (init.step == step) return init;
    }
    ADD_FAILURE() << name(step);
    return init;
  }
  // Until nothing moves.
  void pump() {
    for (bool made_progress = true; made_progress;) {
      w.pump();
      made_progress = false;
      while (const auto batch = end.receive()) {
        made_progress = true;
        for (std::size_t at = 0; at < batch->bytes.size(); at += batch->stride) {
          FlitWalker walker(
              batch->bytes.subspan(at, std::min(batch->stride, batch->bytes.size() - at)));
          for (FlitView flit; walker.next(flit) == FlitWalker::Step::kFlit;)
            link.receive(w.clock.now(), flit);
        }
      }
      std::array<std::byte, 1400> datagram;
      while (const std::size_t bytes = link.fill(w.clock.now(), datagram)) {
        made_progress = true;
        end.send(w.listener_at.address(), base::Bytes(datagram).first(bytes), bytes);
      }
    }
  }
  void on_cell(std::uint8_t vl, base::Bytes, std::uint32_t blocks) override {
    ++cells[vl];
    if ((holds >> vl & 1) != 0)
      held[vl] += blocks;
    else
      link.release(vl, blocks);
  }

  FullWorld& w;
  InProcessUnderlay& end;
  base::Counters<FullLinkCounter> counters;
  FullLink link;
  std::uint16_t holds = 0;
  std::map<std::uint8_t, unsigned> cells;
  std::map<std::uint8_t, std::uint32_t> held;
};

TEST(LinkLanes, S000_40_X_15_a_blocked_lane_blocks_no_other) {
  FullWorld w;
  HandPeer peer(w);
  Link& link = *w.a->port.by_lid(Lid(3));
  ASSERT_TRUE(link.up());
  peer.holds = 1;  // lane 0 is never freed
  std::map<std::uint8_t, unsigned> sent;
  for (unsigned i = 0; i < 3000; ++i) {
    for (const std::uint8_t vl : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}, kMgmtLane}) {
      if (write_lane(link, vl, pattern(128, i))) ++sent[vl];
    }
    peer.pump();
  }
  EXPECT_EQ(peer.cells[0], 128U);  // what 256 blocks hold
  EXPECT_LT(sent[0], 1000U);       // the rest finds no room
  EXPECT_GT(sent[0], 128U);
  EXPECT_EQ(peer.cells[1], 3000U);
  EXPECT_EQ(peer.cells[3], 3000U);
  EXPECT_EQ(peer.cells[kMgmtLane], 3000U);
  EXPECT_TRUE(link.blocked());
  EXPECT_FALSE(w.a->port.take_room());
  // S000-45: nothing of the blocked lane is lost.
  peer.holds = 0;
  peer.link.release(0, peer.held[0]);
  peer.pump();
  EXPECT_EQ(peer.cells[0], sent[0]);
  EXPECT_TRUE(w.a->port.take_room());
  EXPECT_FALSE(w.a->port.take_room());
  EXPECT_FALSE(link.blocked());
  EXPECT_TRUE(write_lane(link, 0, pattern(128, 1)));
}

// The owner wakes up when the path takes datagrams again; until then only the time-out is due.
TEST(LinkLanes, S000_45_a_blocked_path_is_waited_for_without_a_spin) {
  for (const bool comes_back : {true, false}) {
    World w({.batch_queue_max = 4}, full(config_of(0xA, 100, true)), full(config_of(0xB, 200)));
    w.connect();
    w.run(100ms);  // the probes that follow INIT
    Link& link = w.b->link();
    Port& port = w.b->port;
    Cells sent;
    while (sent.size() < 100 && !port.wants_write()) {
      sent.push_back(pattern(200, static_cast<unsigned>(sent.size())));
      ASSERT_TRUE(write(link, sent.back()));
      port.flush(w.clock.now());
    }
    ASSERT_TRUE(port.wants_write());
    const base::Time end = w.clock.now() + (comes_back ? 800ms : 950ms);
    unsigned wakes = 0;
    for (; w.clock.now() < end; ++wakes) {
      ASSERT_GT(port.deadline(), w.clock.now()) << "after " << wakes;
      w.clock.set(std::min(port.deadline(), end));
      port.on_time(w.clock.now());
      port.flush(w.clock.now());
    }
    EXPECT_LE(wakes, 10U);
    EXPECT_EQ(link.up(), comes_back);
    if (!comes_back) continue;
    w.pump();
    EXPECT_EQ(w.a->cells, sent);
    EXPECT_FALSE(port.wants_write());
    EXPECT_GT(port.deadline(), w.clock.now());
  }
}

TEST(LinkLanes, a_cell_beyond_the_limit_of_the_profile_finds_no_room) {
  FullWorld w;
  EXPECT_FALSE(write(w.b->link(), pattern(2000, 1)));
  EXPECT_FALSE(w.b->link().blocked());
  EXPECT_TRUE(write(w.b->link(), pattern(1056, 1)));  // MGMT has one size in every profile
}

}  // namespace splitnic::fabric::link_lanes_test
