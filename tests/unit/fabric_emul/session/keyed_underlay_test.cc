// A keyed link from end to end: records, faults, roaming and restarts.
#include "fabric_emul/session/keyed_underlay.h"

#include <gtest/gtest.h>

#include "fabric_emul/session/keys.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

using Status = Underlay::SendStatus;

TEST(KeyedUnderlayTest, what_waits_for_the_keys_arrives_with_them) {
  KeyedWorld world;
  world.start();
  const Buffer hello = KeyedWorld::payload(88, 4);
  EXPECT_EQ(world.send_up(hello), Status::kRefused);
  EXPECT_EQ(world.host->count(SessionCounter::kTxDropNoKeys), 1U);
  world.exchange();
  EXPECT_TRUE(world.is_up());
  EXPECT_EQ(world.unit->received, Datagrams{hello});
  EXPECT_EQ(world.unit->from, world.host_address);
  EXPECT_EQ(world.host->count(SessionCounter::kEstablished), 1U);
  EXPECT_EQ(world.unit->count(SessionCounter::kEstablished), 1U);
}

TEST(KeyedUnderlayTest, a_batch_keeps_one_length_and_is_sealed) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.unit->received.clear();
  world.host->path.sent.clear();
  const Buffer batch = KeyedWorld::payload(4 * 1440 + 100, 9);
  ASSERT_EQ(world.send_up(batch), Status::kSent);
  world.exchange();
  ASSERT_EQ(world.host->path.sent.size(), 5U);
  EXPECT_EQ(world.host->path.strides.back(), 1472U);
  EXPECT_EQ(world.host->path.sent[0].size(), 1472U);
  EXPECT_EQ(world.host->path.sent[4].size(), 132U);
  for (const Buffer& record : world.host->path.sent) {
    EXPECT_EQ(record[0], std::byte{0x84});
    const auto clear = std::span(batch).subspan(16, 16);
    EXPECT_EQ(std::search(record.begin(), record.end(), clear.begin(), clear.end()), record.end());
  }
  Buffer arrived;
  ASSERT_EQ(world.unit->received.size(), 5U);
  for (const Buffer& datagram : world.unit->received) {
    arrived.insert(arrived.end(), datagram.begin(), datagram.end());
  }
  EXPECT_EQ(arrived, batch);
  world.send_down(KeyedWorld::payload(3, 2));
  world.exchange();
  EXPECT_EQ(world.host->last(), KeyedWorld::payload(3, 2));
  EXPECT_EQ(world.host->from, world.unit_address);
}

TEST(KeyedUnderlayTest, the_ends_may_have_different_libraries) {
  for (const bool is_of_unit : {false, true}) {
    KeyedWorld world;
    world.common.provider = is_of_unit ? best_aead_provider() : AeadProvider::kOpenSsl;
    world.make_unit();
    world.common.provider = is_of_unit ? AeadProvider::kOpenSsl : best_aead_provider();
    world.make_host();
    world.connect();
    world.unit->received.clear();
    for (unsigned bytes = 1; bytes < 1400; bytes += 123) {
      world.send_up(KeyedWorld::payload(bytes, 3));
      world.send_down(KeyedWorld::payload(bytes, 4));
      world.exchange();
      EXPECT_EQ(world.unit->last(), KeyedWorld::payload(bytes, 3));
      EXPECT_EQ(world.host->last(), KeyedWorld::payload(bytes, 4));
    }
    EXPECT_EQ(world.unit->count(SessionCounter::kRxDropTag), 0U);
  }
}

TEST(KeyedUnderlayTest, lengths_and_names) {
  KeyedWorld world;
  world.start();
  world.connect();
  KeyedUnderlay& keyed = world.host->keyed;
  EXPECT_EQ(keyed.datagram_bytes_max(world.unit_address), 1472U);
  EXPECT_EQ(keyed.batch_bytes_max() + 64 * kDataOverheadBytes, kBatchBytesMax);
  EXPECT_EQ(keyed.name_of(world.unit_address), world.unit_at.name_of(world.unit_at.address()));
  EXPECT_EQ(keyed.key_of(world.unit_address), base64_of(public_key_of(world.unit_secret).bytes));
  EXPECT_EQ(keyed.eui64_of(world.unit_address), eui64_of(public_key_of(world.unit_secret)));
  EXPECT_NE(eui64_of(public_key_of(world.unit_secret)), eui64_of(public_key_of(world.host_secret)));
  EXPECT_FALSE(keyed.eui64_of(PeerAddress()));
  EXPECT_EQ(keyed.send(PeerAddress(), KeyedWorld::payload(8, 1), 8), Status::kRefused);
}

TEST(KeyedUnderlayTest, keys_that_cannot_be_a_peer_are_refused) {
  KeyedWorld world;
  world.start();
  EXPECT_FALSE(world.unit->keyed.allow({public_key_of(world.unit_secret), {}, {}}));
  EXPECT_FALSE(world.unit->keyed.allow({public_key_of(world.host_secret), {}, {}}));
  EXPECT_FALSE(world.unit->keyed.allow({PublicKey(), {}, {}}));
}

// L1 and C1 of the QUIC interop runner.
TEST(KeyedUnderlayTest, S_56_handshakes_under_30_percent_loss_50_of_50_in_60_s) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    KeyedWorld world(seed);
    world.start();
    for (Node* node : {world.host.get(), world.unit.get()}) {
      node->fault.set_config(
          {.loss_ppm = 300'000, .loss_burst = 1 + static_cast<unsigned>(seed % 3)});
    }
    EXPECT_LT(world.connect(), 60s) << seed;
    EXPECT_TRUE(world.is_up()) << seed;
  }
}

TEST(KeyedUnderlayTest, S_56_handshakes_under_30_percent_corruption_50_of_50_in_60_s) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    KeyedWorld world(seed);
    world.start();
    for (Node* node : {world.host.get(), world.unit.get()}) {
      node->fault.set_config({.corrupt_ppm = 300'000, .truncate_ppm = 20'000});
    }
    EXPECT_LT(world.connect(), 60s) << seed;
    ASSERT_TRUE(world.is_up()) << seed;
    for (const Buffer& datagram : world.unit->received) {
      EXPECT_EQ(datagram, KeyedWorld::payload(88, 1));
    }
    for (const SessionCounter which :
         {SessionCounter::kRxDropMac, SessionCounter::kRxDropTag, SessionCounter::kRxDropFormat,
          SessionCounter::kRxDropIndex}) {
      refused += world.unit->count(which) + world.host->count(which);
    }
  }
  EXPECT_GT(refused, 20U);
}

TEST(KeyedUnderlayTest, F_46_a_unit_that_lost_the_keys_is_back_within_a_second) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.step(300s);
  world.connect();
  world.make_unit();
  const base::Time began = world.clock.now();
  while (!world.is_up() && world.clock.now() - began < 10s) {
    world.send_up(KeyedWorld::payload(16, 1));
    world.step(20ms);
  }
  EXPECT_LT(world.clock.now() - began, 1s);
  world.unit->received.clear();
  world.send_up(KeyedWorld::payload(16, 3));
  world.exchange();
  EXPECT_EQ(world.unit->received, Datagrams{KeyedWorld::payload(16, 3)});
}

TEST(KeyedUnderlayTest, F_48_records_of_an_ended_host_process_are_refused) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->path.is_blocked = true;
  world.send_up(KeyedWorld::payload(32, 1));
  const Buffer late = world.host->path.sent.back();
  world.make_host();
  world.send_up(KeyedWorld::payload(88, 2));
  world.exchange();
  ASSERT_TRUE(world.is_up());
  world.unit->received.clear();
  world.host_at.send(world.unit_at.address(), late, late.size());
  world.exchange();
  EXPECT_TRUE(world.unit->received.empty());
  EXPECT_EQ(world.unit->count(SessionCounter::kRxDropIndex), 1U);
}

TEST(KeyedUnderlayTest, S_57_a_peer_moves_with_its_newest_record_only) {
  KeyedWorld world;
  world.start();
  world.connect();
  InProcessUnderlay& elsewhere = world.hub.add_endpoint();
  // A record that a third party holds back, and one that is newer.
  world.host->path.is_blocked = true;
  EXPECT_EQ(world.send_up(KeyedWorld::payload(10, 1)), Status::kBlocked);
  const Buffer held = world.host->path.sent.back();
  world.host->path.is_blocked = false;
  EXPECT_EQ(world.send_up(KeyedWorld::payload(10, 2)), Status::kSent);
  world.exchange();
  elsewhere.send(world.unit_at.address(), held, held.size());
  world.exchange();
  EXPECT_EQ(world.unit->last(), KeyedWorld::payload(10, 1));  // good, and not the newest
  EXPECT_EQ(world.unit->count(SessionCounter::kRoamed), 0U);
  world.send_down(KeyedWorld::payload(5, 5));
  world.exchange();
  EXPECT_EQ(world.host->last(), KeyedWorld::payload(5, 5));
  // The host itself moves.
  world.host->path.move_to(elsewhere);
  world.send_up(KeyedWorld::payload(10, 3));
  world.exchange();
  EXPECT_EQ(world.unit->count(SessionCounter::kRoamed), 1U);
  EXPECT_EQ(world.unit->from, world.host_address);
  world.send_down(KeyedWorld::payload(5, 6));
  world.exchange();
  EXPECT_EQ(world.host->last(), KeyedWorld::payload(5, 6));
}

TEST(KeyedUnderlayTest, S_57_the_unit_stays_where_it_was_configured) {
  KeyedWorld world;
  world.start();
  world.connect();
  InProcessUnderlay& elsewhere = world.hub.add_endpoint();
  world.unit->path.is_blocked = true;
  world.send_down(KeyedWorld::payload(10, 1));
  const Buffer newest = world.unit->path.sent.back();
  world.unit->path.is_blocked = false;
  elsewhere.send(world.host_at.address(), newest, newest.size());
  world.exchange();
  EXPECT_EQ(world.host->last(), KeyedWorld::payload(10, 1));
  world.send_up(KeyedWorld::payload(20, 2));
  world.exchange();
  EXPECT_FALSE(elsewhere.receive());
  EXPECT_EQ(world.unit->last(), KeyedWorld::payload(20, 2));
  EXPECT_EQ(world.host->count(SessionCounter::kRoamed), 0U);
}

TEST(KeyedUnderlayTest, a_host_that_hears_nothing_checks_its_own_address) {
  KeyedWorld world;
  world.start();
  world.connect();
  const unsigned checks = world.host->path.own_address_checks;
  for (unsigned i = 0; i < 20; ++i) {
    world.send_up(KeyedWorld::payload(16, i));
    world.send_down(KeyedWorld::payload(16, i));
    world.step(50ms);
  }
  EXPECT_EQ(world.host->path.own_address_checks, checks);
  world.unit->fault.set_cut(true);
  for (unsigned i = 0; i < 10; ++i) {
    world.send_up(KeyedWorld::payload(16, i));
    world.step(50ms);
  }
  EXPECT_GT(world.host->path.own_address_checks, checks);
  EXPECT_EQ(world.unit->path.own_address_checks, 0U);
}

TEST(KeyedUnderlayTest, the_path_to_a_known_peer_is_sealed) {
  KeyedWorld world;
  world.start();
  world.connect();
  EXPECT_EQ(world.host->keyed.path_kind(world.unit_address), PathKind::kSealed);
  EXPECT_EQ(world.unit->keyed.path_kind(world.host_address), PathKind::kSealed);
  EXPECT_EQ(world.host->keyed.path_kind(PeerAddress()), PathKind::kNetwork);
}

TEST(KeyedUnderlayTest, records_of_two_hosts_in_one_batch_are_kept_apart) {
  KeyedWorld world;
  world.start();
  world.connect();
  const auto second = world.make_second_host();
  world.host->path.is_blocked = second.node->path.is_blocked = true;
  world.send_up(KeyedWorld::payload(50, 2));
  second.node->keyed.send(second.unit, KeyedWorld::payload(50, 3), 50);
  Buffer spliced;
  for (const Buffer* record : {&world.host->path.sent.back(), &second.node->path.sent.back()}) {
    spliced.insert(spliced.end(), record->begin(), record->end());
  }
  world.second_at.send(world.unit_at.address(), spliced, 82);
  const auto first_batch = world.unit->keyed.receive();
  ASSERT_TRUE(first_batch);
  EXPECT_EQ(first_batch->from, world.host_address);
  EXPECT_EQ(Buffer(first_batch->bytes.begin(), first_batch->bytes.end()),
            KeyedWorld::payload(50, 2));
  EXPECT_LE(world.unit->keyed.deadline(), world.clock.now());  // no descriptor shows the rest
  const auto second_batch = world.unit->keyed.receive();
  ASSERT_TRUE(second_batch);
  EXPECT_GT(world.unit->keyed.deadline(), world.clock.now());
  EXPECT_EQ(second_batch->from, second.at_unit);
  EXPECT_EQ(Buffer(second_batch->bytes.begin(), second_batch->bytes.end()),
            KeyedWorld::payload(50, 3));
}

}  // namespace
}  // namespace splitnic::fabric::session
