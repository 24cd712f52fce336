// Batches that the carrier does not take, or takes in part. Their records are sent once.
#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

using Status = Underlay::SendStatus;

TEST(BlockedBatchTest, a_datagram_that_blocks_gets_a_new_counter) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.unit->received.clear();
  world.host->path.is_blocked = true;
  const Buffer batch = KeyedWorld::payload(100, 1);
  EXPECT_EQ(world.send_up(batch), Status::kBlocked);
  const Buffer first = world.host->path.sent.back();
  world.host->path.is_blocked = false;
  EXPECT_EQ(world.send_up(batch), Status::kSent);
  EXPECT_LT(Data::counter(first), Data::counter(world.host->path.sent.back()));
  world.exchange();
  EXPECT_EQ(world.unit->received, Datagrams{batch});
}

Buffer joined(const Datagrams& datagrams) {
  Buffer all;
  for (const Buffer& datagram : datagrams) all.insert(all.end(), datagram.begin(), datagram.end());
  return all;
}

TEST(BlockedBatchTest, L_13_a_batch_that_blocks_in_the_middle_arrives_once) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.unit->received.clear();
  world.host->path.room = 2;
  const Buffer batch = KeyedWorld::payload(4000, 1);
  EXPECT_EQ(world.send_up(batch, 1000), Status::kBlocked);
  EXPECT_EQ(world.send_up(batch, 1000), Status::kBlocked);
  world.host->path.room = 2;
  EXPECT_EQ(world.send_up(batch, 1000), Status::kSent);
  world.exchange();
  EXPECT_EQ(joined(world.unit->received), batch);
  EXPECT_EQ(world.unit->count(SessionCounter::kRxDropReplay), 0U);
}

TEST(BlockedBatchTest, L_13_a_batch_that_blocks_in_the_middle_takes_nothing_from_another_host) {
  KeyedWorld world;
  world.start();
  world.connect();
  const auto second = world.make_second_host();
  world.host->received.clear();
  world.unit->path.room = 2;
  const Buffer first_batch = KeyedWorld::payload(4000, 1);
  const Buffer second_batch = KeyedWorld::payload(4000, 2);
  EXPECT_EQ(world.send_down(first_batch, 1000), Status::kBlocked);
  world.unit->path.room = 100;
  EXPECT_EQ(world.unit->keyed.send(second.at_unit, second_batch, 1000), Status::kSent);
  EXPECT_EQ(world.send_down(first_batch, 1000), Status::kSent);
  second.node->receive();
  world.exchange();
  EXPECT_EQ(joined(second.node->received), second_batch);
  EXPECT_EQ(joined(world.host->received), first_batch);
}

TEST(BlockedBatchTest, L_13_the_batch_after_one_that_was_given_up_leaves_whole) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.unit->received.clear();
  world.host->path.room = 2;
  Buffer batch = KeyedWorld::payload(4000, 1);
  EXPECT_EQ(world.send_up(batch, 1000), Status::kBlocked);
  world.host->keyed.forget(batch);
  std::ranges::copy(KeyedWorld::payload(4000, 2), batch.begin());
  world.host->path.room = 100;
  EXPECT_EQ(world.send_up(batch, 1000), Status::kSent);
  world.exchange();
  const Buffer begun = KeyedWorld::payload(4000, 1);
  Buffer expected(begun.begin(), begun.begin() + 2000);
  expected.insert(expected.end(), batch.begin(), batch.end());
  EXPECT_EQ(joined(world.unit->received), expected);
}

TEST(BlockedBatchTest, L_13_a_batch_that_blocked_is_not_sent_without_a_session) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->path.room = 0;
  const Buffer batch = KeyedWorld::payload(4000, 1);
  EXPECT_EQ(world.send_up(batch, 1000), Status::kBlocked);
  world.host->path.room.reset();
  world.unit->fault.set_cut(true);
  world.step(181s);
  const std::size_t before = world.host->path.sent.size();
  EXPECT_EQ(world.send_up(batch, 1000), Status::kRefused);
  for (std::size_t i = before; i < world.host->path.sent.size(); ++i) {
    EXPECT_EQ(type_of(world.host->path.sent[i]), MessageType::kInitiation);
  }
}

}  // namespace
}  // namespace splitnic::fabric::session
