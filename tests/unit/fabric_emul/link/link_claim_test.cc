// A link that writes its batches into room claimed from the underlay.
#include "link_pair.h"

namespace splitnic::fabric::link_claim_test {

using namespace link_cells_test;
using Status = Underlay::SendStatus;

// Grants one claim at a time and keeps account of it.
class Claimable final : public UnderlayDecorator {
 public:
  explicit Claimable(Underlay& below) : UnderlayDecorator(below), room_(65000) {}
  base::MutableBytes claim(const PeerAddress& to, std::size_t first) override {
    first_bytes = first;
    EXPECT_FALSE(is_claimed) << "claimed twice";
    if (!has_room) return {};
    is_claimed = true;
    claimed_for = to;
    ++claims;
    return room_;
  }
  Status commit(const PeerAddress& to, std::size_t bytes, std::size_t stride) override {
    EXPECT_TRUE(is_claimed);
    EXPECT_EQ(to, claimed_for);
    if (result == Status::kBlocked) return result;
    ++commits;
    is_claimed = false;
    if (result != Status::kSent) return result;
    const Status status = below_.send(to, base::Bytes(room_).first(bytes), stride);
    std::ranges::fill(room_, std::byte{0xEE});
    return status;
  }
  void abort(const PeerAddress& to) override {
    EXPECT_TRUE(is_claimed);
    EXPECT_EQ(to, claimed_for);
    std::ranges::fill(room_, std::byte{0xEE});
    is_claimed = false;
    ++aborts;
  }
  Status send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    EXPECT_FALSE(is_claimed && to == claimed_for) << "other bytes while the claim stands";
    EXPECT_NE(bytes.data(), room_.data());
    return result == Status::kSent ? below_.send(to, bytes, stride) : result;
  }
  std::optional<Received> receive() override { return below_.receive(); }
  base::Time deadline() const override { return below_.deadline(); }

  std::span<std::byte> room() { return room_; }
  bool has_room = true, is_claimed = false;
  unsigned claims = 0, aborts = 0, commits = 0;
  std::size_t first_bytes = 0;
  PeerAddress claimed_for;
  Status result = Status::kSent;

 private:
  std::vector<std::byte> room_;
};

// Listener a, client b; both write into claimed room.
struct ClaimWorld {
  explicit ClaimWorld(LinkProfile profile = LinkProfile::kSpeed)
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
    config.uses_fragments = false;
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
  Claimable from_a, from_b;
  std::unique_ptr<End> a, b;
};

TEST(LinkClaimTest, cells_are_written_where_they_are_sent_from) {
  ClaimWorld world;
  EXPECT_EQ(world.from_b.claims, 0U);  // nothing before there is something to write
  const Cells sent{pattern(200, 1), pattern(700, 2)};
  for (unsigned round = 1; round <= 3; ++round) {
    ASSERT_TRUE(write(world.b->link(), sent[0]));
    EXPECT_TRUE(std::ranges::equal(sent[0], world.from_b.room().subspan(kFlitHeaderBytes, 200)));
    ASSERT_TRUE(write(world.b->link(), sent[1]));
    world.b->port.flush(world.now);
    EXPECT_EQ(world.from_b.commits, round);
    EXPECT_EQ(world.from_b.claims, round);
    EXPECT_FALSE(world.from_b.is_claimed);
    world.pump();
    EXPECT_EQ(world.a->cells, sent);
    world.a->cells.clear();
  }
  EXPECT_EQ(world.from_b.aborts, 0U);
  EXPECT_EQ(world.from_b.first_bytes, kFlitHeaderBytes + 200);
}

TEST(LinkClaimTest, without_room_the_batch_is_the_link_s_own) {
  ClaimWorld world;
  world.from_b.has_room = false;
  const Cells sent{pattern(200, 1)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.from_b.has_room = true;  // too late for this batch
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.pump();
  EXPECT_EQ(world.from_b.commits, 0U);
  EXPECT_EQ(world.a->cells, (Cells{sent[0], sent[0]}));
}

TEST(LinkClaimTest, room_that_was_reserved_and_not_written_is_used_next) {
  ClaimWorld world;
  const auto room = world.b->link().reserve(100);
  const auto again = world.b->link().reserve(60000);  // more than a datagram
  EXPECT_EQ(room.data(), again.data());
  world.b->link().commit(0);
  const Cells sent{pattern(100, 1)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.pump();
  EXPECT_EQ(world.from_b.claims, 1U);
  EXPECT_EQ(world.a->cells, sent);
}

TEST(LinkClaimTest, a_blocked_batch_stays_where_it_is) {
  ClaimWorld world;
  const Cells sent{pattern(300, 3)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.from_b.result = Status::kBlocked;
  world.b->port.flush(world.now);
  EXPECT_TRUE(world.b->port.wants_write());
  EXPECT_TRUE(world.from_b.is_claimed);
  EXPECT_TRUE(world.b->link().reserve(10).empty());
  world.from_b.result = Status::kSent;
  world.b->port.on_writable(world.now);
  EXPECT_EQ(world.from_b.commits, 1U);
  world.pump();
  EXPECT_EQ(world.a->cells, sent);
}

TEST(LinkClaimTest, a_refused_batch_is_dropped) {
  ClaimWorld world;
  for (const Status refusal : {Status::kRefused, Status::kTooLong}) {
    ASSERT_TRUE(write(world.b->link(), pattern(300, 3)));
    world.from_b.result = refusal;
    world.b->port.flush(world.now);
    world.from_b.result = Status::kSent;
    EXPECT_FALSE(world.from_b.is_claimed);
  }
  ASSERT_TRUE(write(world.b->link(), pattern(300, 4)));
  world.pump();
  EXPECT_EQ(world.a->cells, Cells{pattern(300, 4)});
}

// IDLE, INIT and probes are sent while cells wait for the flush.
TEST(LinkClaimTest, a_flit_that_overtakes_a_batch_leaves_it_whole) {
  ClaimWorld world;
  const Cells sent{pattern(300, 1), pattern(400, 2)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  EXPECT_TRUE(world.from_b.is_claimed);
  world.now += 250ms;
  world.b->port.on_time(world.now);  // IDLE
  EXPECT_FALSE(world.from_b.is_claimed);
  EXPECT_EQ(world.from_b.aborts, 1U);
  EXPECT_EQ(world.b->count(LinkCounter::kTxIdle), 1U);
  ASSERT_TRUE(write(world.b->link(), sent[1]));  // into the same batch
  world.pump();
  EXPECT_EQ(world.a->cells, sent);
  EXPECT_EQ(world.from_b.commits, 0U);
}

TEST(LinkClaimTest, a_link_that_goes_down_aborts_its_claim) {
  ClaimWorld world;
  ASSERT_TRUE(write(world.a->link(), pattern(300, 1)));
  EXPECT_TRUE(world.from_a.is_claimed);
  world.b->port.send_bye(world.now);
  world.a->receive(world.now);
  EXPECT_FALSE(world.a->link().up());
  EXPECT_FALSE(world.from_a.is_claimed);
  EXPECT_EQ(world.from_a.aborts, 1U);
  EXPECT_EQ(world.a->count(LinkCounter::kTxDropDown), 1U);
  world.b->port.connect(world.a_at.address(), world.now);
}

TEST(LinkClaimTest, a_peer_that_restarts_or_moves_ends_the_claim) {
  ClaimWorld world;
  ASSERT_TRUE(write(world.a->link(), pattern(300, 1)));
  EXPECT_TRUE(world.from_a.is_claimed);
  EXPECT_EQ(world.from_a.claimed_for, world.b_at.address());
  // The same instance, from another address.
  InProcessUnderlay& elsewhere = world.hub.add_endpoint();
  End moved(elsewhere, config_of(0xB, 200));
  moved.port.connect(world.a_at.address(), world.now);
  for (int i = 0; i < 4; ++i) {
    world.a->receive(world.now);
    moved.receive(world.now);
  }
  EXPECT_FALSE(world.from_a.is_claimed);
  EXPECT_EQ(world.a->link().address(), elsewhere.address());
  world.a->port.flush(world.now);
  moved.receive(world.now);
  EXPECT_EQ(moved.cells, Cells{pattern(300, 1)});
  // Another instance.
  ASSERT_TRUE(write(world.a->link(), pattern(300, 2)));
  EXPECT_TRUE(world.from_a.is_claimed);
  End restarted(elsewhere, config_of(0xB, 201));
  restarted.port.connect(world.a_at.address(), world.now);
  for (int i = 0; i < 4; ++i) {
    world.a->receive(world.now);
    restarted.receive(world.now);
  }
  EXPECT_FALSE(world.from_a.is_claimed);
  world.a->port.flush(world.now);
  restarted.receive(world.now);
  EXPECT_TRUE(restarted.cells.empty());
}

TEST(LinkClaimTest, P_44_bytes_that_the_peer_writes_into_the_room_change_no_length) {
  ClaimWorld world;
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

TEST(LinkClaimTest, lanes_are_sent_from_the_link_s_own_buffer) {
  ClaimWorld world(LinkProfile::kFull);
  const Cells sent{pattern(200, 1)};
  ASSERT_TRUE(write(world.b->link(), sent[0]));
  world.pump();
  EXPECT_EQ(world.a->cells, sent);
  EXPECT_EQ(world.from_b.claims, 0U);
}

TEST(LinkClaimTest, decorators_grant_no_claim) {
  ClaimWorld world;
  base::SeededRandom random(1);
  base::ManualClock clock;
  FaultUnderlay faults(world.from_b, random, clock, {});
  EXPECT_TRUE(faults.claim(world.a_at.address(), 60000).empty());
  EXPECT_EQ(world.from_b.claims, 0U);
}

}  // namespace splitnic::fabric::link_claim_test
