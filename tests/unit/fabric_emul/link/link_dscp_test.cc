// The DSCP of what a link sends follows from its lane, in the speed and in the full profile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "link_world.h"
#include "tests/support/dscp_recorder.h"

namespace splitnic::fabric::link_dscp_test {
namespace {

using namespace link_world;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::array<std::uint8_t, kLaneCount> kDscpOfLane{0, 10, 0, 46, 0, 0, 0, 0,
                                                           0, 0,  0, 0,  0, 0, 0, 48};

// A listener and a client that marks its lanes.
struct MarkedWorld {
  explicit MarkedWorld(LinkProfile profile = LinkProfile::kSpeed)
      : faults(listener_at, random, clock),
        recorder(client_at),
        a(faults, with_profile(config_of(0xA, 100, true), profile)),
        b(recorder, marked(profile)) {
    b.port.connect(listener_at.address(), clock.now());
    pump();
  }
  static PortConfig marked(LinkProfile profile) {
    PortConfig config = with_profile(config_of(0xB, 200), profile);
    config.dscp_of_lane = kDscpOfLane;
    return config;
  }
  // The listener keeps the cells of lane 0 as long as `holds`.
  bool take() {
    return a.port.receive(clock.now(), 16, [this](Link& link, std::span<const ReceivedCell> cells) {
      for (const ReceivedCell& cell : cells) {
        got.at(cell.vl).emplace_back(cell.bytes.begin(), cell.bytes.end());
        if (holds && cell.vl == 0) held.push_back(link.hold(cell));
      }
    });
  }
  void pump() {
    for (bool made_progress = true; made_progress;) {
      a.port.flush(clock.now());
      b.port.flush(clock.now());
      made_progress = take();
      made_progress = b.receive(clock.now()) || made_progress;
    }
  }
  void run(base::Duration time) {
    for (const base::Time end = clock.now() + time; clock.now() < end;) {
      clock.advance(1ms);
      a.port.on_time(clock.now());
      b.port.on_time(clock.now());
      pump();
    }
  }
  Link& link() { return b.link(); }
  // Every DATA flit went in a datagram with the DSCP of its lane.
  void expect_marked() const {
    for (const auto& one : recorder.sent) {
      for (const auto& [type, lane] : one.flits) {
        if (type == FlitType::kData) {
          EXPECT_EQ(one.dscp, kDscpOfLane.at(lane)) << "lane " << lane;
        }
      }
    }
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub;
  InProcessUnderlay& listener_at = hub.add_endpoint();
  InProcessUnderlay& client_at = hub.add_endpoint();
  FaultUnderlay faults;
  DscpRecorder recorder;
  End a, b;
  std::array<Cells, kLaneCount> got;
  bool holds = false;
  std::vector<CellCredit> held;
};

std::vector<std::pair<unsigned, std::size_t>> dscps_and_flits(const DscpRecorder& recorder) {
  std::vector<std::pair<unsigned, std::size_t>> out;
  for (const auto& one : recorder.sent) out.emplace_back(one.dscp, one.flits.size());
  return out;
}

TEST(LinkDscpTest, S002_43_a_batch_is_for_lanes_of_one_dscp) {
  MarkedWorld w;
  w.recorder.sent.clear();
  for (const unsigned lane : {0U, 2U, 3U, 3U, 1U, 0U}) {
    ASSERT_TRUE(write(w.link(), pattern(100, lane), static_cast<std::uint8_t>(lane)));
  }
  w.pump();
  EXPECT_THAT(dscps_and_flits(w.recorder),
              ElementsAre(Pair(0, 2), Pair(46, 2), Pair(10, 1), Pair(0, 1)));
  w.expect_marked();
  EXPECT_EQ(w.got.at(0).size(), 2U);
  EXPECT_EQ(w.got.at(3).size(), 2U);
}

TEST(LinkDscpTest, S002_43_init_and_idle_have_that_of_the_management_lane) {
  MarkedWorld w;
  ASSERT_FALSE(w.recorder.sent.empty());
  for (const auto& one : w.recorder.sent) {
    EXPECT_EQ(one.flits.at(0).first, FlitType::kInit);
    EXPECT_EQ(one.dscp, 48);
  }
  ASSERT_TRUE(write(w.link(), pattern(100, 1), 3));
  w.pump();
  w.recorder.sent.clear();
  w.run(250ms);
  ASSERT_FALSE(w.recorder.sent.empty());
  for (const auto& one : w.recorder.sent) EXPECT_EQ(one.dscp, 48);
}

// The batch that the underlay did not take keeps its DSCP, and INIT meanwhile has another one.
TEST(LinkDscpTest, a_batch_that_was_blocked_keeps_its_dscp) {
  MarkedWorld w;
  w.recorder.blocks = true;
  ASSERT_TRUE(write(w.link(), pattern(100, 1), 3));
  w.b.port.flush(w.clock.now());
  EXPECT_EQ(w.recorder.dscp(), 48);
  w.recorder.blocks = false;
  w.recorder.sent.clear();
  w.b.port.on_writable(w.clock.now());
  w.pump();
  EXPECT_THAT(dscps_and_flits(w.recorder), ElementsAre(Pair(46, 1)));
}

// Cells of several lanes that the client sends at once arrive in one batch.
void expect_one_batch(World& w) {
  w.connect();
  w.a->batches.clear();
  for (const unsigned lane : {0U, 3U, 1U, 0U}) {
    ASSERT_TRUE(write(w.b->link(), pattern(100, lane), static_cast<std::uint8_t>(lane)));
  }
  w.pump();
  EXPECT_EQ(w.a->batches, std::vector<std::size_t>{4});
}

// Over shm nothing could have a mark.
TEST(LinkDscpTest, the_shm_profile_has_no_marks) {
  PortConfig client = config_of(0xB, 200);
  client.dscp_of_lane = kDscpOfLane;
  client.crc_head_only = true;
  PortConfig listener = config_of(0xA, 100, true);
  listener.crc_head_only = true;
  World w({}, listener, client);
  expect_one_batch(w);
}

TEST(LinkDscpTest, without_marks_all_lanes_share_a_batch) {
  World w;
  expect_one_batch(w);
}

// Lanes alternate, flits are lost and repeated, and acknowledgements travel with either.
TEST(LinkDscpTest, S002_43_flits_of_the_full_profile_go_with_the_dscp_of_their_lane) {
  MarkedWorld w(LinkProfile::kFull);
  w.faults.set_config({.loss_ppm = 50'000});
  w.recorder.sent.clear();
  std::array<Cells, 4> sent;
  for (unsigned i = 0; i < 400; ++i) {
    const auto lane = static_cast<std::uint8_t>(i % 4);
    const auto cell = pattern(40 + 4 * (i % 50), i);
    if (write(w.link(), cell, lane)) sent.at(lane).push_back(cell);
    if (i % 20 == 0) w.run(1ms);
  }
  w.run(500ms);
  EXPECT_GT(w.b.port.full_counters()[FullLinkCounter::kTxResend], 0U);
  w.expect_marked();
  std::set<unsigned> used;
  for (const auto& one : w.recorder.sent) used.insert(one.dscp);
  EXPECT_THAT(used, ElementsAre(0, 10, 46, 48));
  for (std::size_t lane = 0; lane < sent.size(); ++lane) EXPECT_EQ(w.got.at(lane), sent.at(lane));
}

// Each class has the buffers of its receiver: when those of one are used up, the others flow.
TEST(LinkDscpTest, S002_43_each_class_has_its_own_flow_control) {
  MarkedWorld w(LinkProfile::kFull);
  w.holds = true;
  unsigned written = 0;
  for (unsigned misses = 0; misses < 3;) {
    if (write(w.link(), pattern(200, written), 0)) {
      ++written;
      misses = 0;
    } else {
      ++misses;
      w.run(1ms);
    }
    ASSERT_LT(written, 100'000U) << "lane 0 has no end";
  }
  const std::size_t taken = w.got.at(0).size();
  ASSERT_LT(taken, written) << "all that was written has arrived";
  w.recorder.sent.clear();
  for (unsigned i = 0; i < 500; ++i) {
    ASSERT_TRUE(write(w.link(), pattern(200, i), 3));
    w.pump();
  }
  EXPECT_EQ(w.got.at(3).size(), 500U);
  EXPECT_EQ(w.got.at(0).size(), taken);
  for (const auto& one : w.recorder.sent) EXPECT_NE(one.dscp, 0) << "lane 0 has no credits";
  w.holds = false;
  for (const CellCredit& credit : w.held) w.a.link().release(credit);
  w.run(20ms);
  EXPECT_EQ(w.got.at(0).size(), written);
}

// Flits of all classes are one sequence: those that arrive before a held one come again behind it.
TEST(LinkDscpTest, S002_43_a_class_that_is_late_costs_time_and_no_cell) {
  MarkedWorld w(LinkProfile::kFull);
  w.recorder.holds = 46;
  std::array<Cells, 4> sent;
  for (unsigned i = 0; i < 60; ++i) {
    const std::uint8_t lane = i % 2 == 0 ? 0 : 3;
    const auto cell = pattern(40 + 4 * i, i);
    if (write(w.link(), cell, lane)) sent.at(lane).push_back(cell);
    w.run(1ms);
    if (i % 20 == 19) w.recorder.deliver_held();
  }
  for (int i = 0; i < 200; ++i) {
    w.run(50ms);  // as late as that each time
    w.recorder.deliver_held();
  }
  EXPECT_EQ(w.got.at(0), sent.at(0));
  EXPECT_EQ(w.got.at(3), sent.at(3));
  EXPECT_GT(w.b.port.full_counters()[FullLinkCounter::kTxResend], 0U);
  EXPECT_EQ(w.b.watch.events, std::vector<std::string>{"up"});
}

// The clause has the price: one class that never arrives ends the link for all.
TEST(LinkDscpTest, S002_43_a_class_that_does_not_arrive_ends_the_link) {
  MarkedWorld w(LinkProfile::kFull);
  w.recorder.holds = 46;
  ASSERT_TRUE(write(w.link(), pattern(100, 1), 3));
  ASSERT_TRUE(write(w.link(), pattern(100, 2), 0));
  w.run(200ms);
  EXPECT_TRUE(w.link().up());
  w.run(5s);
  EXPECT_GT(w.b.watch.events.size(), 1U) << "it was down";
  // The next link begins without it.
  w.recorder.holds.reset();
  w.run(5s);
  EXPECT_TRUE(w.link().up());
  ASSERT_TRUE(write(w.link(), pattern(100, 3), 3));
  w.run(50ms);
  EXPECT_EQ(w.got.at(3), Cells{pattern(100, 3)});
}

}  // namespace
}  // namespace splitnic::fabric::link_dscp_test
