// Two sides, both roles, and a fabric that only keeps the order of each channel: thousands of
// random steps from a seed. The model knows the content of every element; it checks that no write
// lands in an element that a reader holds or that was not returned, that every frame is read once
// and unchanged, that no writer waits indefinitely, and that at the end every element is accounted
// for.
#include <deque>
#include <map>

#include "base/random.h"
#include "tests/unit/messaging/pools/pool_support.h"

namespace splitnic::messaging::pool_model_test {
using namespace test;
using std::chrono::microseconds;

struct Write {
  ElementLease lease;
  std::uint32_t bytes = 0;
  std::uint64_t tag = 0;  // stands for the content
};
using Place = std::pair<std::uint32_t, std::uint32_t>;  // pool, element

// One direction of data: `from` writes into pools of `to`.
struct Direction {
  Side* from = nullptr;
  Side* to = nullptr;
  std::deque<Write> data;        // channel 1, not arrived
  std::deque<Write> acks;        // arrived, ACK not seen by the writer
  std::deque<Write> by_message;  // ACK seen, indication to be sent on channel 0
  std::map<Place, std::uint64_t> content;
  std::deque<std::pair<FilledElement, std::uint64_t>> held;  // with the reader
  std::deque<std::uint64_t> order;  // tags in the order of the writes, for idata
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::uint64_t blocked = 0;
};

class World {
 public:
  World(std::uint64_t seed, std::optional<IdataForm> form) : random(seed), a(1, form), b(9, form) {
    ab.from = &a;
    ab.to = &b;
    ba.from = &b;
    ba.to = &a;
    for (Side* side : {&a, &b}) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        side->owner.add(memory(4 + static_cast<std::uint32_t>(random.below(30)), 2048, ++handle));
      }
      side->owner.add(memory(8, 65536, ++handle));
    }
    settle(a, b, now);
  }

  void step() {
    Direction& d = random.below(2) == 0 ? ab : ba;
    now += microseconds(random.below(20));
    switch (random.below(8)) {
      case 0:
      case 1:
        return write(d);
      case 2:
      case 3:
        return arrive(d);
      case 4:
        return acknowledge(d);
      case 5:
        return let_go(d);
      case 6:
        return send(random.below(2) == 0 ? a : b);
      default:
        return deliver(random.below(2) == 0);
    }
  }

  void write(Direction& d) {
    const bool is_long = random.below(8) == 0;
    const auto bytes = static_cast<std::uint32_t>(1 + random.below(is_long ? 65536 : 2048));
    const auto lease = d.from->user.take(bytes);
    if (!lease) {
      ++d.blocked;
      return;
    }
    ASSERT_GE(lease->element_bytes, bytes);
    if (random.below(16) == 0) return d.from->user.cancel(*lease);
    d.data.push_back({*lease, bytes, ++d.written});
  }
  void arrive(Direction& d) {
    if (d.data.empty()) return;
    const Write w = d.data.front();
    d.data.pop_front();
    const Place place{w.lease.pool.value, w.lease.element};
    for (const auto& [filled, tag] : d.held) {
      ASSERT_FALSE(filled.pool == w.lease.pool && filled.element == w.lease.element)
          << "written while a reader holds it";
    }
    d.content[place] = w.tag;
    if (w.lease.idata) {
      const auto filled = d.to->owner.on_idata(*w.lease.idata, w.bytes, w.lease.address, now);
      ASSERT_TRUE(filled) << name(filled.error());
      ASSERT_EQ(filled->address, w.lease.address);
      d.held.emplace_back(*filled, w.tag);
    }
    d.acks.push_back(w);
  }
  void acknowledge(Direction& d) {
    if (d.acks.empty()) return;
    const Write w = d.acks.front();
    d.acks.pop_front();
    if (w.lease.idata) return d.from->user.on_written(w.lease);
    Message message = indicate(ConsumedRecord{w.lease.pool, w.lease.element, 1, w.bytes});
    channel_of(*d.from).push_back(std::move(message));
    d.from->user.on_written(w.lease);
  }
  void let_go(Direction& d) {
    if (d.held.empty()) return;
    const std::size_t i = random.below(d.held.size());  // readers finish in any order
    const auto [filled, tag] = d.held[i];
    d.held.erase(d.held.begin() + static_cast<std::ptrdiff_t>(i));
    ASSERT_EQ((d.content[{filled.pool.value, filled.element}]), tag) << "changed while held";
    ++d.read;
    d.to->owner.release(filled.pool, filled.element, 1, now);
  }
  void send(Side& side) {
    Message message = side.next(now);
    if (!message.empty()) channel_of(side).push_back(std::move(message));
  }
  void deliver(bool from_a) {
    auto& channel = from_a ? channel_a : channel_b;
    if (channel.empty()) return;
    Side& to = from_a ? b : a;
    Direction& d = from_a ? ab : ba;
    const Verdict verdict = to.receive(channel.front(), now);
    ASSERT_TRUE(verdict) << name(verdict.error()) << ": " << hex(channel.front());
    channel.pop_front();
    for (const FilledElement& filled : to.filled) {
      d.held.emplace_back(filled, d.content[{filled.pool.value, filled.element}]);
    }
    to.filled.clear();
  }
  std::deque<Message>& channel_of(Side& side) { return &side == &a ? channel_a : channel_b; }

  // No new writes; everything else continues until no step is left.
  void drain() {
    for (int i = 0; i < 3000; ++i) {
      now += microseconds(10);
      for (Direction* d : {&ab, &ba}) {
        arrive(*d);
        acknowledge(*d);
        let_go(*d);
      }
      send(a);
      send(b);
      deliver(true);
      deliver(false);
    }
  }

  base::SeededRandom random;
  base::Time now = kStart;
  std::uint32_t handle = 0;
  Side a, b;
  Direction ab, ba;
  std::deque<Message> channel_a, channel_b;  // channel 0, from a and from b
};

void expect_accounted(const Direction& d) {
  EXPECT_EQ(d.read, d.written) << "every frame is read once";
  d.to->owner.visit([&](const OwnerPoolView& owned) {
    const UserPoolView used = d.from->used(owned.record.pool);
    EXPECT_EQ(owned.filled, 0U);
    EXPECT_EQ(owned.posted + owned.released, owned.record.elements) << "no element is lost";
    EXPECT_EQ(used.available, owned.posted) << "both sides agree";
    EXPECT_EQ(used.writing, 0U);
    EXPECT_EQ(used.consumed, owned.released);
    EXPECT_GE(used.available * 2, owned.record.elements) << "the peer has at least half";
  });
}

void run(std::uint64_t seed, std::optional<IdataForm> form) {
  SCOPED_TRACE(seed);
  World world(seed, form);
  for (int i = 0; i < 5000 && !testing::Test::HasFatalFailure(); ++i) world.step();
  world.drain();
  if (testing::Test::HasFatalFailure()) return;
  expect_accounted(world.ab);
  expect_accounted(world.ba);
  EXPECT_GT(world.ab.written, 100U);
  for (const Side* side : {&world.a, &world.b}) {
    side->drops.visit([](std::string_view what, std::uint64_t n) { EXPECT_EQ(n, 0U) << what; });
    EXPECT_FALSE(side->control.is_broken());
  }
  // Flush all from both sides: every pool ends exactly once.
  world.a.owner.request_flush_all();
  world.b.owner.request_flush_all();
  settle(world.a, world.b, world.now);
  for (Side* side : {&world.a, &world.b}) {
    int closed = 0;
    while (side->owner.next_closed()) ++closed;
    EXPECT_EQ(closed, 4);
    side->user.visit([](const UserPoolView&) { FAIL() << "a pool is left"; });
  }
}

TEST(PoolModelTest, S001_14_P_39_P_41_idata) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) run(seed, IdataForm::kPoolElement);
}
TEST(PoolModelTest, S001_18_S001_21_indication_by_message) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) run(seed, std::nullopt);
}

// A writer that always has a frame to send is never stuck: each time it is blocked, released
// elements return within the Update's 100 us.
TEST(PoolModelTest, S001_14_a_busy_writer_is_never_stuck) {
  World world(7, IdataForm::kPoolElement);
  std::uint64_t last_written = 0;
  for (int round = 0; round < 2000; ++round) {
    while (true) {
      const std::uint64_t before = world.ab.blocked;
      world.write(world.ab);
      if (world.ab.blocked != before) break;
    }
    ASSERT_GT(world.ab.written, last_written) << "stuck in round " << round;
    last_written = world.ab.written;
    while (!world.ab.data.empty()) world.arrive(world.ab);
    while (!world.ab.held.empty()) world.let_go(world.ab);
    world.now += microseconds(100);
    world.send(world.b);
    while (!world.channel_b.empty()) world.deliver(false);
    while (!world.ab.acks.empty()) world.acknowledge(world.ab);  // the Update overtook the ACKs
  }
  EXPECT_FALSE(world.a.control.is_broken());
}

}  // namespace splitnic::messaging::pool_model_test
