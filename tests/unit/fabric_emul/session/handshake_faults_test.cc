// Handshakes on paths that lose, repeat, reorder, change and cut what they carry, with clocks that
// jump and nodes that start again, all drawn from a seed. SPLITNIC_LONG=1 runs 1,000 seeds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "base/endian.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace handshake_faults_test {

constexpr int kEvents = 6;
constexpr base::Duration kBackWithin = 15s;  // once the path is good

// Datagrams with a number, each of which may arrive once and unchanged.
class Direction {
 public:
  explicit Direction(unsigned tag) : tag_(tag) {}
  Buffer make(base::Random& random) {
    Buffer datagram = KeyedWorld::payload(16 + random.below(1200), tag_);
    base::store_be(datagram.data(), ++last_);
    sent_.insert(datagram);
    return datagram;
  }
  // Empty: what has arrived was sent, and came once.
  std::string take(std::vector<Buffer>& received) {
    for (const Buffer& datagram : std::exchange(received, {})) {
      if (!sent_.contains(datagram)) return "never sent";
      if (!arrived_.insert(base::load_be<std::uint64_t>(datagram.data())).second) return "twice";
    }
    return {};
  }
  bool has_last() const { return arrived_.contains(last_); }

 private:
  const unsigned tag_;
  std::uint64_t last_ = 0;
  std::set<Buffer> sent_;
  std::set<std::uint64_t> arrived_;
};

class FaultyRun {
 public:
  explicit FaultyRun(std::uint64_t seed) : random_(seed * 977 + 5), world_(seed) {
    world_.start();
    spoil();
  }
  std::string failure() {
    for (int i = 0; i < kEvents; ++i) {
      exchange(1 + random_.below(60));
      happen();
    }
    return failure_.empty() ? heal() : failure_;
  }

 private:
  FaultConfig draw() {
    FaultConfig f;
    const auto up_to = [&](std::uint64_t ppm) {
      return random_.below(2) == 0 ? 0 : static_cast<std::uint32_t>(random_.below(ppm));
    };
    f.loss_ppm = up_to(300'000);
    f.loss_burst = static_cast<unsigned>(1 + random_.below(3));
    f.duplicate_ppm = up_to(500'000);
    f.reorder_ppm = up_to(300'000);
    f.reorder_delay = std::chrono::milliseconds(1 + random_.below(40));
    f.corrupt_ppm = up_to(300'000);
    f.truncate_ppm = up_to(100'000);
    f.delay = std::chrono::milliseconds(random_.below(20));
    return f;
  }
  void spoil() {
    world_.host->fault.set_config(draw());
    world_.unit->fault.set_config(draw());
  }
  void exchange(std::uint64_t rounds) {
    for (; rounds > 0 && failure_.empty(); --rounds) {
      send();
      world_.step(std::chrono::milliseconds(1 + random_.below(100)));
      take();
    }
  }
  void send() {
    world_.send_up(up_.make(random_));
    world_.send_down(down_.make(random_));
  }
  void take() {
    if (const std::string what = up_.take(world_.unit->received); !what.empty())
      failure_ = "to the unit: " + what;
    if (const std::string what = down_.take(world_.host->received); !what.empty())
      failure_ = "to the host: " + what;
  }
  void happen() {
    switch (random_.below(6)) {
      case 0:
        world_.make_host();
        break;
      case 1:
        world_.make_unit();
        break;
      case 2:
        world_.make_unit();
        world_.make_host();
        break;
      case 3:  // suspended, or moved on by its user
        world_.clock.advance(std::chrono::hours(random_.below(3)));
        break;
      case 4:  // the clock of the wall jumps; stamps never step back (docs/protocol/session.md)
        world_.stamp += 3'600'000;
        break;
      default:
        break;
    }
    spoil();
  }
  std::string heal() {
    world_.host->fault.set_config({});
    world_.unit->fault.set_config({});
    const base::Time until = world_.clock.now() + kBackWithin;
    do {
      if (world_.clock.now() >= until) return "no session after the path has healed";
      send();
      world_.step(20ms);
      world_.exchange();
      take();
      if (!failure_.empty()) return failure_;
    } while (!up_.has_last() || !down_.has_last());
    return {};
  }

  base::SeededRandom random_;
  KeyedWorld world_;
  Direction up_{2}, down_{3};
  std::string failure_;
};

TEST(HandshakeFaultsTest, S_56_F_47_sessions_come_back_whatever_the_path_and_the_nodes_do) {
  const std::uint64_t seeds = std::getenv("SPLITNIC_LONG") == nullptr ? 60 : 1000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ASSERT_EQ(FaultyRun(seed).failure(), "") << "seed " << seed;
  }
}

// A host that starts again has no stamps of before. It gets no reply until its clock is right.
TEST(HandshakeFaultsTest, S_56_a_clock_that_was_set_back_is_reported_at_the_unit) {
  KeyedWorld world;
  std::vector<HandshakeFault> faults;
  world.common.on_fault = [&](HandshakeFault fault, const PublicKey& peer, const PeerAddress& at) {
    EXPECT_EQ(peer, public_key_of(world.host_secret));
    EXPECT_EQ(at, world.host_at.address());
    faults.push_back(fault);
  };
  world.stamp = 1'000'000;
  world.start();
  world.connect();
  ASSERT_TRUE(world.is_up());
  EXPECT_TRUE(faults.empty());
  world.stamp = 1000;
  world.clock.advance(2s);  // the unit has heard nothing for so long
  world.make_host();
  const auto host_is_up = [&] { return world.host->keyed.has_session(world.unit_address); };
  for (int i = 0; i < 250 && !host_is_up(); ++i) {
    world.send_up(KeyedWorld::payload(88, 1));
    world.step(20ms);
  }
  EXPECT_FALSE(host_is_up());
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults, std::vector<HandshakeFault>(faults.size(), HandshakeFault::kStamp));
  EXPECT_LE(faults.size(), world.unit->count(SessionCounter::kRxDropStamp));
  world.stamp = 2'000'000;
  for (int i = 0; i < 250 && !host_is_up(); ++i) {
    world.send_up(KeyedWorld::payload(88, 1));
    world.step(20ms);
  }
  EXPECT_TRUE(host_is_up());
}

}  // namespace handshake_faults_test
}  // namespace splitnic::fabric::session
