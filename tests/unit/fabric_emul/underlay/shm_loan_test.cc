// Batches that are written straight into the ring of a wire, and wires that end meanwhile.
#include "shm_world.h"

namespace splitnic::fabric::shm_loan_test {

using namespace shm_world;

class ShmLoanTest : public ShmTest {};

void fill(base::MutableBytes room, base::Bytes batch) {
  ASSERT_GE(room.size(), batch.size());
  std::ranges::copy(batch, room.begin());
}

TEST_F(ShmLoanTest, what_is_written_in_lent_room_is_the_peer_s_without_a_copy) {
  auto listener = open(true);
  Liar peer = Liar::connect(path(), *listener);
  peer.tell(10, 10, 64);
  const auto got = listener->receive();
  ASSERT_TRUE(got);
  const auto batch = batch_of(3000, 7);
  const base::MutableBytes room = listener->lend(got->from, 65000);
  EXPECT_EQ(room.size(), listener->batch_bytes_max());
  fill(room, batch);
  const base::Bytes ring = peer.segment->bytes(0);
  EXPECT_TRUE(std::ranges::equal(ring.subspan(8, 3000), batch));
  EXPECT_EQ(peer.segment->control(0).head.load(), 0U);  // nothing to take yet
  ASSERT_EQ(listener->send(got->from, room.first(3000), 1400), Status::kSent);
  EXPECT_EQ(peer.segment->control(0).head.load(), 3008U);
  EXPECT_TRUE(std::ranges::equal(ring.subspan(8, 3000), batch));
}

TEST_F(ShmLoanTest, every_batch_arrives_whether_it_was_lent_room_or_not) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const PeerAddress to = ShmUnderlay::listener_address();
  std::size_t lent = 0;
  std::size_t total = 0;
  for (unsigned i = 0; total < 20 * kRingBytes; ++i) {
    const auto batch = batch_of(1 + (i * 7919) % 65000, i);
    const base::MutableBytes room = connector->lend(to, 65000);
    if (!room.empty()) {
      ++lent;
      fill(room, batch);
    }
    const base::Bytes sent = room.empty() ? base::Bytes(batch) : room.first(batch.size());
    ASSERT_EQ(connector->send(to, sent, 100), Status::kSent) << i;
    ASSERT_TRUE(is_batch(listener->receive(), batch, std::min<std::size_t>(100, batch.size())))
        << i;
    total += batch.size();
  }
  EXPECT_GT(lent, 20U);
}

TEST_F(ShmLoanTest, other_bytes_wait_and_are_told_when_the_room_is_free) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const PeerAddress to = ShmUnderlay::listener_address();
  const auto batch = batch_of(500, 1);
  const auto other = batch_of(600, 2);
  const base::MutableBytes room = connector->lend(to, 65000);
  fill(room, batch);
  EXPECT_TRUE(connector->lend(to, 65000).empty());
  EXPECT_EQ(connector->send(to, other, 600), Status::kBlocked);
  EXPECT_FALSE(is_readable(*connector));
  EXPECT_EQ(connector->send(to, room.first(500), 500), Status::kSent);
  EXPECT_TRUE(is_readable(*connector));
  EXPECT_EQ(connector->send(to, other, 600), Status::kSent);
  EXPECT_FALSE(is_readable(*connector));
  EXPECT_TRUE(is_batch(listener->receive(), batch, 500));
  EXPECT_TRUE(is_batch(listener->receive(), other, 600));
  // Given back: the same place is written by the next.
  fill(connector->lend(to, 65000), batch);
  connector->give_back(to);
  connector->give_back(to);
  EXPECT_EQ(connector->send(to, other, 600), Status::kSent);
  EXPECT_TRUE(is_batch(listener->receive(), other, 600));
  EXPECT_FALSE(listener->receive());
}

TEST_F(ShmLoanTest, a_peer_that_ends_leaves_the_room_until_it_is_sent_or_given_back) {
  auto listener = open(true);
  for (const bool is_sent : {true, false}) {
    auto connector = open(false);
    join(*listener, *connector);
    const PeerAddress client = learn(*listener, *connector);
    const base::MutableBytes room = listener->lend(client, 65000);
    ASSERT_FALSE(room.empty());
    connector.reset();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(look(*listener));
    fill(room, batch_of(65000, 1));  // still ours to write
    EXPECT_TRUE(listener->lend(client, 65000).empty());
    if (is_sent) {
      EXPECT_EQ(listener->send(client, room.first(100), 100), Status::kRefused);
    } else {
      listener->give_back(client);
    }
    EXPECT_FALSE(listener->receive());
    EXPECT_EQ(listener->clients(), 0U);
    EXPECT_FALSE(is_readable(*listener));
    EXPECT_TRUE(listener->lend(client, 65000).empty());
  }
}

TEST_F(ShmLoanTest, a_connector_with_a_batch_half_made_finds_the_next_listener) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  learn(*listener, *connector);
  const PeerAddress to = ShmUnderlay::listener_address();
  const base::MutableBytes room = connector->lend(to, 65000);
  ASSERT_FALSE(room.empty());
  listener.reset();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(look(*connector));
  listener = open(true);
  fill(room, batch_of(100, 1));
  EXPECT_EQ(connector->send(to, room.first(100), 100), Status::kRefused);
  EXPECT_FALSE(look(*connector));
  EXPECT_EQ(connector->send(to, batch_of(20, 1), 20), Status::kRefused);  // begins to connect
  join(*listener, *connector);
  learn(*listener, *connector);
  EXPECT_FALSE(connector->lend(to, 65000).empty());
}

TEST_F(ShmLoanTest, P_44_a_taker_that_lies_while_room_is_lent_ends_the_wire_only) {
  auto listener = open(true);
  auto honest = open(false);
  join(*listener, *honest);
  Liar liar = Liar::connect(path(), *listener);
  liar.tell(10, 10, 64);
  const auto got = listener->receive();
  ASSERT_TRUE(got);
  const PeerAddress from = got->from;
  const base::MutableBytes room = listener->lend(from, 65000);
  ASSERT_FALSE(room.empty());
  liar.segment->control(0).tail.store(64);  // taken before it was put
  EXPECT_EQ(listener->send(from, room.first(10), 10), Status::kRefused);
  EXPECT_EQ(listener->count(ShmCounter::kDropBroken), 1U);
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->clients(), 1U);
  learn(*listener, *honest);
}

TEST_F(ShmLoanTest, P_44_lies_of_the_putter_leave_the_room_that_it_was_lent) {
  auto listener = open(true);
  Liar liar = Liar::connect(path(), *listener);
  liar.tell(10, 10, 64);
  const auto got = listener->receive();
  ASSERT_TRUE(got);
  const PeerAddress from = got->from;
  const base::MutableBytes room = listener->lend(from, 65000);
  liar.segment->control(1).head.store(65);  // between two records
  EXPECT_FALSE(listener->receive());
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->count(ShmCounter::kDropBroken), 1U);
  fill(room, batch_of(65000, 1));
  listener->give_back(from);
  EXPECT_FALSE(listener->receive());
  EXPECT_EQ(listener->clients(), 0U);
}

TEST_F(ShmLoanTest, short_batches_are_copied) {
  auto listener = open(true);
  auto connector = open(false);
  join(*listener, *connector);
  EXPECT_TRUE(connector->lend(ShmUnderlay::listener_address(), 4095).empty());
  EXPECT_FALSE(connector->lend(ShmUnderlay::listener_address(), 4096).empty());
}

}  // namespace splitnic::fabric::shm_loan_test
