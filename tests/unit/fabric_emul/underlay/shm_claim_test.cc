// Batches that are written straight into the ring of a wire, and wires that end meanwhile.
#include "shm_world.h"

namespace splitnic::fabric::shm_claim_test {

using namespace shm_world;

class ShmClaimTest : public ShmTest {};

void fill(base::MutableBytes room, base::Bytes batch) {
  ASSERT_GE(room.size(), batch.size());
  std::ranges::copy(batch, room.begin());
}

TEST_F(ShmClaimTest, bytes_written_into_claimed_room_reach_the_peer_without_a_copy) {
  auto listener = open(true);
  Liar peer = Liar::connect(path(), *listener);
  const PeerAddress from = peer.introduce(*listener);
  const auto batch = batch_of(3000, 7);
  const base::MutableBytes room = listener->claim(from, 65000);
  EXPECT_EQ(room.size(), listener->batch_bytes_max());
  fill(room, batch);
  const base::Bytes ring = peer.segment->bytes(0);
  EXPECT_TRUE(std::ranges::equal(ring.subspan(8, 3000), batch));
  EXPECT_EQ(peer.segment->control(0).head.load(), 0U);  // nothing to take yet
  ASSERT_EQ(listener->commit(from, 3000, 1400), Status::kSent);
  EXPECT_EQ(peer.segment->control(0).head.load(), 3008U);
  EXPECT_TRUE(std::ranges::equal(ring.subspan(8, 3000), batch));
}

TEST_F(ShmClaimTest, every_batch_arrives_with_or_without_a_claim) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const PeerAddress to = ShmUnderlay::listener_address();
  std::size_t claimed = 0;
  std::size_t total = 0;
  for (unsigned i = 0; total < 20 * kRingBytes; ++i) {
    const auto batch = batch_of(1 + (i * 7919) % 65000, i);
    const base::MutableBytes room = connector->claim(to, 65000);
    if (!room.empty()) {
      ++claimed;
      fill(room, batch);
    }
    const Status status =
        room.empty() ? connector->send(to, batch, 100) : connector->commit(to, batch.size(), 100);
    ASSERT_EQ(status, Status::kSent) << i;
    ASSERT_TRUE(is_batch(listener->receive(), batch, std::min<std::size_t>(100, batch.size())))
        << i;
    total += batch.size();
  }
  EXPECT_GT(claimed, 20U);
}

TEST_F(ShmClaimTest, other_bytes_wait_until_the_claim_ends) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const PeerAddress to = ShmUnderlay::listener_address();
  const auto batch = batch_of(500, 1);
  const auto other = batch_of(600, 2);
  const base::MutableBytes room = connector->claim(to, 65000);
  fill(room, batch);
  EXPECT_TRUE(connector->claim(to, 65000).empty());
  EXPECT_EQ(connector->send(to, other, 600), Status::kBlocked);
  EXPECT_FALSE(is_readable(*connector));
  EXPECT_EQ(connector->commit(to, 500, 500), Status::kSent);
  EXPECT_TRUE(is_readable(*connector));
  EXPECT_EQ(connector->send(to, other, 600), Status::kSent);
  EXPECT_FALSE(is_readable(*connector));
  EXPECT_TRUE(is_batch(listener->receive(), batch, 500));
  EXPECT_TRUE(is_batch(listener->receive(), other, 600));
  // Aborted: the same place is written by the next.
  fill(connector->claim(to, 65000), batch);
  connector->abort(to);
  connector->abort(to);
  EXPECT_EQ(connector->send(to, other, 600), Status::kSent);
  EXPECT_TRUE(is_batch(listener->receive(), other, 600));
  EXPECT_FALSE(listener->receive());
}

TEST_F(ShmClaimTest, a_peer_that_ends_leaves_the_room_until_commit_or_abort) {
  auto listener = open(true);
  for (const bool is_sent : {true, false}) {
    auto connector = open(false);
    join(*listener, *connector);
    const PeerAddress client = learn(*listener, *connector);
    const base::MutableBytes room = listener->claim(client, 65000);
    ASSERT_FALSE(room.empty());
    connector.reset();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(look(*listener));
    fill(room, batch_of(65000, 1));  // still ours to write
    EXPECT_TRUE(listener->claim(client, 65000).empty());
    if (is_sent) {
      EXPECT_EQ(listener->commit(client, 100, 100), Status::kRefused);
    } else {
      listener->abort(client);
    }
    EXPECT_FALSE(listener->receive());
    EXPECT_EQ(listener->clients(), 0U);
    EXPECT_FALSE(is_readable(*listener));
    EXPECT_TRUE(listener->claim(client, 65000).empty());
  }
}

TEST_F(ShmClaimTest, a_connector_with_a_batch_half_made_finds_the_next_listener) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const PeerAddress to = ShmUnderlay::listener_address();
  const base::MutableBytes room = connector->claim(to, 65000);
  ASSERT_FALSE(room.empty());
  listener.reset();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(look(*connector));
  listener = open(true);
  fill(room, batch_of(100, 1));
  EXPECT_EQ(connector->commit(to, 100, 100), Status::kRefused);
  EXPECT_FALSE(look(*connector));
  EXPECT_EQ(connector->send(to, batch_of(20, 1), 20), Status::kRefused);  // begins to connect
  join(*listener, *connector);
  learn(*listener, *connector);
  EXPECT_FALSE(connector->claim(to, 65000).empty());
}

TEST_F(ShmClaimTest, P_44_a_taker_that_lies_during_a_claim_ends_the_wire_only) {
  auto listener = open(true);
  auto honest = open(false);
  join(*listener, *honest);
  Liar liar = Liar::connect(path(), *listener);
  const PeerAddress from = liar.introduce(*listener);
  const base::MutableBytes room = listener->claim(from, 65000);
  ASSERT_FALSE(room.empty());
  liar.segment->control(0).tail.store(64);  // taken before it was put
  EXPECT_EQ(listener->commit(from, 10, 10), Status::kRefused);
  EXPECT_EQ(listener->count(ShmCounter::kDropBroken), 1U);
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->clients(), 1U);
  learn(*listener, *honest);
}

TEST_F(ShmClaimTest, P_44_lies_of_the_putter_leave_the_claimed_room) {
  auto listener = open(true);
  Liar liar = Liar::connect(path(), *listener);
  const PeerAddress from = liar.introduce(*listener);
  const base::MutableBytes room = listener->claim(from, 65000);
  liar.segment->control(1).head.store(65);  // between two records
  EXPECT_FALSE(listener->receive());
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->count(ShmCounter::kDropBroken), 1U);
  fill(room, batch_of(65000, 1));
  listener->abort(from);
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->clients(), 0U);
}

TEST_F(ShmClaimTest, short_batches_are_copied) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  EXPECT_TRUE(connector->claim(ShmUnderlay::listener_address(), 4095).empty());
  EXPECT_FALSE(connector->claim(ShmUnderlay::listener_address(), 4096).empty());
}

}  // namespace splitnic::fabric::shm_claim_test
