// A link that makes its batches in room that the underlay lends.
#include "link_pair.h"

namespace splitnic::fabric::link_lent_test {

using namespace link_cells_test;
using Status = Underlay::SendStatus;

// Lends one room at a time and keeps account of it.
class Lender final : public Underlay {
 public:
  explicit Lender(Underlay& below) : below_(below), room_(65000) {}
  base::MutableBytes lend(const PeerAddress& to, std::size_t first) override {
    first_bytes = first;
    EXPECT_FALSE(is_lent) << "asked twice";
    if (!has_room) return {};
    is_lent = true;
    lent_to = to;
    ++lent;
    return room_;
  }
  void give_back(const PeerAddress& to) override {
    EXPECT_TRUE(is_lent);
    EXPECT_EQ(to, lent_to);
    std::ranges::fill(room_, std::byte{0xEE});
    is_lent = false;
    ++given_back;
  }
  Status send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    const bool is_room = bytes.data() == room_.data();
    EXPECT_EQ(is_room, is_lent && to == lent_to) << "other bytes, or room that is not lent";
    if (answer == Status::kBlocked) return answer;
    if (is_room) {
      ++in_place;
      is_lent = false;
    }
    if (answer != Status::kSent) return answer;
    const Status status = below_.send(to, bytes, stride);
    if (is_room) std::ranges::fill(room_, std::byte{0xEE});
    return status;
  }
  std::optional<Received> receive() override { return below_.receive(); }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override {
    return below_.datagram_bytes_max(to);
  }
  std::size_t receive_buffer_bytes() const override { return below_.receive_buffer_bytes(); }
  std::string name_of(const PeerAddress& peer) const override { return below_.name_of(peer); }

  std::span<std::byte> room() { return room_; }
  bool has_room = true, is_lent = false;
  unsigned lent = 0, given_back = 0, in_place = 0;
  std::size_t first_bytes = 0;
  PeerAddress lent_to;
  Status answer = Status::kSent;

 private:
  Underlay& below_;
  std::vector<std::byte> room_;
};

// Listener a, client b; both write into what is lent.
struct Lent {
  explicit Lent(LinkProfile profile = LinkProfile::kSpeed)
      : a_at(hub.add_endpoint()),
        b_at(hub.add_endpoint()),
        from_a(a_at),
        from_b(b_at),
        a(std::make_unique<End>(from_a, with(profile, config_of(0xA, 100, true)))),
        b(std::make_unique<End>(from_b, with(profile, config_of(0xB, 200)))) {
    b->port.connect(a_at.address(), now);
    pump();
    EXPECT_TRUE(b->link().up());
  }
  static PortConfig with(LinkProfile profile, PortConfig config) {
    config.profile = profile;
    return config;
  }
  void pump() {
    for (int i = 0; i < 6; ++i) {
      a->receive(now);
      b->receive(now);
      a->port.flush(now);
      b->port.flush(now);
    }
  }

  base::Time now = base::ManualClock().now();
  InProcessHub hub;
  InProcessUnderlay& a_at;
  InProcessUnderlay& b_at;
  Lender from_a, from_b;
  std::unique_ptr<End> a, b;
};

TEST(LinkLentTest, cells_are_written_where_they_are_sent_from) {
  Lent world;
  EXPECT_EQ(world.from_b.lent, 0U);  // nothing before there is something to write
  const Cells sent{pattern(200, 1), pattern(700, 2)};
  for (unsigned round = 1; round <= 3; ++round) {
    ASSERT_TRUE(write(world.b->link(), sent[0]));
    EXPECT_TRUE(std::ranges::equal(sent[0], world.from_b.room().subspan(kFlitHeaderBytes, 200)));
    ASSERT_TRUE(write(world.b->link(), sent[1]));
    world.b->port.flush(world.now);
    EXPECT_EQ(world.from_b.in_place, round);
    EXPECT_EQ(world.from_b.lent, round);
    EXPECT_FALSE(world.from_b.is_lent);
    world.pump();
    EXPECT_EQ(world.a->cells, sent);
    world.a->cells.clear();
  }
  EXPECT_EQ(world.from_b.given_back, 0U);
  EXPECT_EQ(world.from_b.first_bytes, kFlitHeaderBytes + 200);
}

TEST(LinkLentTest, without_room_the_batch_is_the_link_s_own) {
  Lent world;
  world.from_b.has_room = false;
  const Cells sent{pattern(200, 1)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.from_b.has_room = true;  // too late for this batch
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.pump();
  EXPECT_EQ(world.from_b.in_place, 0U);
  EXPECT_EQ(world.a->cells, (Cells{sent[0], sent[0]}));
}

TEST(LinkLentTest, room_that_was_reserved_and_not_written_is_used_next) {
  Lent world;
  const auto room = world.b->link().reserve(100);
  const auto again = world.b->link().reserve(60000);  // more than a datagram
  EXPECT_EQ(room.data(), again.data());
  world.b->link().commit(0);
  const Cells sent{pattern(100, 1)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.pump();
  EXPECT_EQ(world.from_b.lent, 1U);
  EXPECT_EQ(world.a->cells, sent);
}

TEST(LinkLentTest, a_blocked_batch_stays_where_it_is) {
  Lent world;
  const Cells sent{pattern(300, 3)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.from_b.answer = Status::kBlocked;
  world.b->port.flush(world.now);
  EXPECT_TRUE(world.b->port.wants_write());
  EXPECT_TRUE(world.from_b.is_lent);
  EXPECT_TRUE(world.b->link().reserve(10).empty());
  world.from_b.answer = Status::kSent;
  world.b->port.on_writable(world.now);
  EXPECT_EQ(world.from_b.in_place, 1U);
  world.pump();
  EXPECT_EQ(world.a->cells, sent);
}

TEST(LinkLentTest, a_refused_batch_is_over) {
  Lent world;
  for (const Status refusal : {Status::kRefused, Status::kTooLong}) {
    ASSERT_TRUE(write(world.b->link(), pattern(300, 3)));
    world.from_b.answer = refusal;
    world.b->port.flush(world.now);
    world.from_b.answer = Status::kSent;
    EXPECT_FALSE(world.from_b.is_lent);
  }
  ASSERT_TRUE(write(world.b->link(), pattern(300, 4)));
  world.pump();
  EXPECT_EQ(world.a->cells, Cells{pattern(300, 4)});
}

// IDLE, INIT and probes are sent while cells wait for the flush.
TEST(LinkLentTest, what_overtakes_a_batch_leaves_it_whole) {
  Lent world;
  const Cells sent{pattern(300, 1), pattern(400, 2)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  EXPECT_TRUE(world.from_b.is_lent);
  world.now += 250ms;
  world.b->port.on_time(world.now);  // IDLE
  EXPECT_FALSE(world.from_b.is_lent);
  EXPECT_EQ(world.from_b.given_back, 1U);
  EXPECT_EQ(world.b->count(LinkCounter::kTxIdle), 1U);
  ASSERT_TRUE(write(world.b->link(), sent[1]));  // into the same batch
  world.pump();
  EXPECT_EQ(world.a->cells, sent);
  EXPECT_EQ(world.from_b.in_place, 0U);
}

TEST(LinkLentTest, a_link_that_goes_down_gives_its_room_back) {
  Lent world;
  ASSERT_TRUE(write(world.a->link(), pattern(300, 1)));
  EXPECT_TRUE(world.from_a.is_lent);
  world.b->port.say_bye(world.now);
  world.a->receive(world.now);
  EXPECT_FALSE(world.a->link().up());
  EXPECT_FALSE(world.from_a.is_lent);
  EXPECT_EQ(world.from_a.given_back, 1U);
  EXPECT_EQ(world.a->count(LinkCounter::kTxDropDown), 1U);
  world.b->port.connect(world.a_at.address(), world.now);
}

TEST(LinkLentTest, a_peer_that_begins_anew_or_elsewhere_takes_no_room_with_it) {
  Lent world;
  ASSERT_TRUE(write(world.a->link(), pattern(300, 1)));
  EXPECT_TRUE(world.from_a.is_lent);
  EXPECT_EQ(world.from_a.lent_to, world.b_at.address());
  // The same instance, from another address.
  InProcessUnderlay& moved_at = world.hub.add_endpoint();
  End bytes_processed(moved_at, config_of(0xB, 200));
  bytes_processed.port.connect(world.a_at.address(), world.now);
  for (int i = 0; i < 4; ++i) {
    world.a->receive(world.now);
    bytes_processed.receive(world.now);
  }
  EXPECT_FALSE(world.from_a.is_lent);
  EXPECT_EQ(world.a->link().address(), moved_at.address());
  world.a->port.flush(world.now);
  bytes_processed.receive(world.now);
  EXPECT_EQ(bytes_processed.cells, Cells{pattern(300, 1)});
  // Another instance.
  ASSERT_TRUE(write(world.a->link(), pattern(300, 2)));
  EXPECT_TRUE(world.from_a.is_lent);
  End anew(moved_at, config_of(0xB, 201));
  anew.port.connect(world.a_at.address(), world.now);
  for (int i = 0; i < 4; ++i) {
    world.a->receive(world.now);
    anew.receive(world.now);
  }
  EXPECT_FALSE(world.from_a.is_lent);
  world.a->port.flush(world.now);
  anew.receive(world.now);
  EXPECT_TRUE(anew.cells.empty());
}

TEST(LinkLentTest, P_44_what_somebody_writes_into_the_room_changes_no_length) {
  Lent world;
  ASSERT_TRUE(write(world.b->link(), pattern(300, 1)));
  std::ranges::fill(world.from_b.room(), std::byte{0xFF});
  ASSERT_TRUE(write(world.b->link(), pattern(400, 2)));
  std::ranges::fill(world.from_b.room(), std::byte{0});
  const std::uint64_t before = world.b->count(LinkCounter::kTxBytes);
  world.b->port.flush(world.now);
  EXPECT_EQ(world.b->count(LinkCounter::kTxBytes) - before, 2 * kFlitHeaderBytes + 700);
  world.pump();
  EXPECT_TRUE(world.a->cells.empty());
  EXPECT_TRUE(world.b->link().up());
}

TEST(LinkLentTest, lanes_are_sent_from_memory_of_our_own) {
  Lent world(LinkProfile::kFull);
  const Cells sent{pattern(200, 1)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.pump();
  EXPECT_EQ(world.a->cells, sent);
  EXPECT_EQ(world.from_b.lent, 0U);
}

TEST(LinkLentTest, decorators_lend_nothing) {
  Lent world;
  base::SeededRandom random(1);
  base::ManualClock clock;
  FaultUnderlay faults(world.from_b, random, clock, {});
  EXPECT_TRUE(faults.lend(world.a_at.address(), 60000).empty());
  EXPECT_EQ(world.from_b.lent, 0U);
}

}  // namespace splitnic::fabric::link_lent_test
