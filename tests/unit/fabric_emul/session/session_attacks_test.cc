// Strangers, replays and floods at a keyed port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "fabric_emul/session/cookie.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

class SessionAttackTest : public testing::Test {
 protected:
  // Sends from the endpoint of the attacker. Returns the bytes that it got in reply.
  std::size_t attack(const Buffer& datagram) {
    stranger_.send(world_.unit_at.address(), datagram, std::max<std::size_t>(datagram.size(), 1));
    world_.unit->receive();
    return replies();
  }
  std::size_t replies() {
    std::size_t bytes = 0;
    while (const auto batch = stranger_.receive()) bytes += batch->bytes.size();
    return bytes;
  }
  // INITIATION by who knows the public key of the unit, and nothing else.
  Buffer forged_initiation() {
    Buffer message = random_bytes(random_, kInitiationBytes);
    begin_initiation(message, random_.next32());
    put_macs(message, MacKeys(public_key_of(world_.unit_secret)), nullptr);
    return message;
  }
  std::uint64_t count(SessionCounter which) const { return world_.unit->count(which); }
  void expect_session_works() {
    world_.unit->received.clear();
    world_.host->received.clear();
    EXPECT_EQ(world_.send_up(KeyedWorld::payload(60, 8)), Underlay::SendStatus::kSent);
    EXPECT_EQ(world_.send_down(KeyedWorld::payload(61, 9)), Underlay::SendStatus::kSent);
    world_.exchange();
    EXPECT_EQ(world_.unit->received, Datagrams{KeyedWorld::payload(60, 8)});
    EXPECT_EQ(world_.host->received, Datagrams{KeyedWorld::payload(61, 9)});
  }

  KeyedWorld world_;
  base::SeededRandom random_{99};
  InProcessUnderlay& stranger_ = world_.hub.add_endpoint();
};

TEST_F(SessionAttackTest, S_53_strangers_get_no_reply_of_any_type_and_length) {
  world_.hub.set_datagram_bytes_max(4096);
  world_.start();
  world_.connect();
  world_.unit->received.clear();
  std::size_t replied = 0;
  for (unsigned type = 0; type < 256; ++type) {
    const bool is_near = type >= 0x80 && type <= 0x86;
    for (std::size_t length = 0; length <= (is_near ? 2048U : 200U); ++length) {
      Buffer datagram = random_bytes(random_, length);
      if (length > 0) datagram[0] = static_cast<std::byte>(type);
      if (length > 3 && length % 3 != 0) {
        datagram[1] = std::byte{type == 0x84 ? std::uint8_t{0} : kVersion};
        datagram[2] = datagram[3] = std::byte{0};
      }
      replied += attack(datagram);
    }
  }
  EXPECT_EQ(replied, 0U);
  EXPECT_TRUE(world_.unit->received.empty());
  EXPECT_EQ(count(SessionCounter::kTxResponse), 1U);
  EXPECT_GT(count(SessionCounter::kRxDropFormat), 50'000U);
  EXPECT_GT(count(SessionCounter::kRxDropIndex), 1'000U);
  EXPECT_EQ(count(SessionCounter::kRxDropMac), 1U);
  expect_session_works();
}

// HELLO of docs/protocol/flit.md, as it is on a link without keys.
TEST_F(SessionAttackTest, L_10_a_hello_of_a_stranger_gets_no_reply) {
  world_.start();
  world_.connect();
  world_.unit->received.clear();
  constexpr auto kHello = std::to_array<std::uint32_t>(
      {0x4f000048, 0x00000000, 0x00000000, 0x9e0630c3, 0x01010100, 0x00010000,
       0x800f0554, 0x058c0000, 0x00000000, 0x00400000, 0x02000000, 0x00000001,
       0x11112222, 0x33334444, 0x00000000, 0x00000000, 0xa1a2a3a4, 0xa5a6a7a8,
       0x00000000, 0x00000000, 0x00010000, 0x00000000});
  Buffer hello(4 * kHello.size());
  for (std::size_t i = 0; i < kHello.size(); ++i) base::store_be(&hello[4 * i], kHello[i]);
  const std::uint64_t before = count(SessionCounter::kRxDropFormat);
  EXPECT_EQ(attack(hello), 0U);
  EXPECT_TRUE(world_.unit->received.empty());
  EXPECT_EQ(count(SessionCounter::kRxDropFormat), before + 1);
}

// The attacker sees the datagrams, and so knows index and counter, and what is in the clear without
// keys.
TEST_F(SessionAttackTest, S_54_forged_datagrams_are_dropped) {
  world_.start();
  world_.connect();
  world_.send_up(KeyedWorld::payload(88, 3));
  world_.exchange();
  world_.unit->received.clear();
  const Buffer seen = world_.host->path.sent.back();
  for (std::uint64_t ahead = 0; ahead < 300; ++ahead) {
    Buffer forged = random_bytes(random_, seen.size());
    begin_data(forged, 0, Data::receiver(seen), Data::counter(seen) + ahead);
    EXPECT_EQ(attack(forged), 0U);
    // The sealed bytes of a good record under another counter.
    Buffer moved = seen;
    begin_data(moved, 0, Data::receiver(seen), Data::counter(seen) + 1 + ahead);
    EXPECT_EQ(attack(moved), 0U);
  }
  EXPECT_EQ(attack(KeyedWorld::payload(88, 3)), 0U);  // a datagram of the link itself
  EXPECT_TRUE(world_.unit->received.empty());
  EXPECT_EQ(count(SessionCounter::kRxDropTag), 600U);
  EXPECT_EQ(count(SessionCounter::kRxDropFormat), 1U);
  EXPECT_EQ(count(SessionCounter::kRoamed), 0U);
  expect_session_works();
}

TEST_F(SessionAttackTest, S_56_a_key_that_is_not_allowed_gets_no_reply) {
  world_.make_unit();
  InProcessUnderlay& at = world_.hub.add_endpoint();
  const auto unknown = world_.make_node(at, KeyedWorld::make_secret(3));
  const auto address =
      unknown->keyed.allow({public_key_of(world_.unit_secret), {}, world_.unit_at.address()});
  ASSERT_TRUE(address);
  for (int i = 0; i < 20; ++i) {
    unknown->keyed.send(*address, KeyedWorld::payload(88, 1), 88);
    world_.clock.advance(500ms);
    world_.unit->receive();
    EXPECT_FALSE(at.receive());
    unknown->receive();
  }
  EXPECT_GT(count(SessionCounter::kRxDropUnknownKey), 4U);
  EXPECT_EQ(count(SessionCounter::kTxResponse), 0U);
}

TEST_F(SessionAttackTest, S_56_another_pre_shared_key_gives_no_session) {
  std::vector<HandshakeFault> faults;
  world_.common.on_fault = [&](HandshakeFault fault, const PublicKey& peer, const PeerAddress&) {
    EXPECT_EQ(peer, public_key_of(world_.unit_secret));
    faults.push_back(fault);
  };
  world_.make_unit();
  world_.psk = Secret(counted(1));
  world_.make_host();
  for (int i = 0; i < 20; ++i) {
    world_.send_up(KeyedWorld::payload(88, 1));
    world_.step(500ms);
  }
  EXPECT_FALSE(world_.is_up());
  const std::uint64_t failed = world_.host->count(SessionCounter::kRxDropHandshake);
  EXPECT_GT(failed, 1U);
  EXPECT_GT(faults.size(), 1U);
  EXPECT_LE(faults.size(), failed);  // a late one is counted and not reported
  EXPECT_THAT(faults, ::testing::Each(HandshakeFault::kResponse));
  EXPECT_EQ(count(SessionCounter::kEstablished), 0U);
}

TEST_F(SessionAttackTest, S_56_a_wrong_key_of_the_unit_gets_no_reply) {
  world_.make_unit();
  InProcessUnderlay& at = world_.hub.add_endpoint();
  const auto host = world_.make_node(at, world_.host_secret);
  const auto address =
      host->keyed.allow({public_key_of(KeyedWorld::make_secret(9)), {}, world_.unit_at.address()});
  ASSERT_TRUE(address);
  host->keyed.send(*address, KeyedWorld::payload(88, 1), 88);
  world_.unit->receive();
  EXPECT_FALSE(at.receive());
  EXPECT_EQ(count(SessionCounter::kRxDropMac), 1U);
}

TEST_F(SessionAttackTest, S_55_replayed_records_are_refused_and_move_nothing) {
  world_.start();
  world_.connect();
  for (unsigned i = 0; i < 200; ++i) {
    world_.send_up(KeyedWorld::payload(40, i));
    world_.send_down(KeyedWorld::payload(40, i));
    world_.exchange();
  }
  world_.unit->received.clear();
  const auto records = world_.host->path.sent;
  for (const Buffer& record : records) EXPECT_EQ(attack(record), 0U);
  EXPECT_TRUE(world_.unit->received.empty());
  EXPECT_EQ(count(SessionCounter::kRxDropReplay), records.size() - 1);  // one is the INITIATION
  EXPECT_EQ(count(SessionCounter::kRxDropStamp), 1U);
  EXPECT_EQ(count(SessionCounter::kRoamed), 0U);
  expect_session_works();
}

TEST_F(SessionAttackTest, S_58_reflected_and_swapped_datagrams_are_refused) {
  world_.start();
  world_.connect();
  world_.send_up(KeyedWorld::payload(40, 1));
  world_.send_down(KeyedWorld::payload(40, 2));
  world_.exchange();
  world_.host->received.clear();
  for (const Buffer& datagram : world_.host->path.sent) {
    stranger_.send(world_.host_at.address(), datagram, datagram.size());
    // With the index that the host expects.
    Buffer swapped = datagram;
    std::copy_n(world_.unit->path.sent.back().begin() + 4, 4, swapped.begin() + 4);
    stranger_.send(world_.host_at.address(), swapped, swapped.size());
  }
  world_.host->receive();
  EXPECT_TRUE(world_.host->received.empty());
  EXPECT_EQ(replies(), 0U);
  expect_session_works();
}

TEST_F(SessionAttackTest, S_56_a_replayed_initiation_changes_nothing) {
  world_.common.on_fault = [](auto&&...) { FAIL() << "the host is not at fault"; };
  world_.start();
  world_.connect();
  const Buffer first = world_.host->path.sent.front();
  ASSERT_EQ(type_of(first), MessageType::kInitiation);
  EXPECT_EQ(attack(first), 0U);
  EXPECT_EQ(count(SessionCounter::kRxDropStamp), 1U);
  expect_session_works();
  // A unit that restarted knows no stamps. The replay gets a RESPONSE that nobody can use.
  world_.make_unit();
  EXPECT_EQ(attack(first), kResponseBytes);
  EXPECT_FALSE(world_.unit->keyed.has_session(world_.host_address));
  EXPECT_EQ(count(SessionCounter::kEstablished), 0U);
  EXPECT_LT(world_.connect(), 3s);
  expect_session_works();
  // And while the host has a session, it disturbs nothing.
  EXPECT_EQ(attack(first), 0U);
  expect_session_works();
}

TEST_F(SessionAttackTest, S_60_a_flood_costs_cookies_and_known_hosts_come_in) {
  world_.make_unit();
  std::size_t bytes_in = 0;
  std::size_t bytes_out = 0;
  // 10^4 per second for a second, and then a host among them.
  const auto flood = [&](int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      for (int k = 0; k < 10; ++k) {
        bytes_out += attack(forged_initiation());
        bytes_in += kInitiationBytes;
      }
      world_.clock.advance(1ms);
    }
  };
  flood(1002);  // not a multiple of 5 ms, at which a token comes
  EXPECT_LE(bytes_out, bytes_in);
  EXPECT_LE(count(SessionCounter::kTxCookie), 2001U);
  EXPECT_GT(count(SessionCounter::kTxCookie), 500U);
  EXPECT_GT(count(SessionCounter::kRxDropBudget), 1000U);
  EXPECT_LE(count(SessionCounter::kRxDropHandshake), 300U);  // what cost a key agreement
  world_.make_host();
  const base::Time began = world_.clock.now();
  while (!world_.is_up() && world_.clock.now() - began < 10s) {
    world_.send_up(KeyedWorld::payload(88, 1));
    world_.host->receive();
    flood(20);
    world_.exchange();
  }
  EXPECT_TRUE(world_.is_up());
  EXPECT_LT(world_.clock.now() - began, 5s);
  EXPECT_GE(world_.host->count(SessionCounter::kRxCookie), 1U);
  expect_session_works();
}

// The host has no cookie, and the flood takes every cookie that the unit gives.
TEST_F(SessionAttackTest, S_60_a_flood_ends_no_session) {
  world_.common.records.rekey_after = 1s;
  world_.common.records.reject_after = 3s;
  world_.common.cookies_per_second = 1;
  world_.start();
  world_.connect();
  for (int i = 0; i < 600; ++i) {
    world_.clock.advance(10ms);
    for (int k = 0; k < 30; ++k) attack(forged_initiation());
    world_.send_up(KeyedWorld::payload(60, 1));
    world_.send_down(KeyedWorld::payload(60, 2));
    world_.exchange();
  }
  EXPECT_GT(count(SessionCounter::kRxDropBudget), 10'000U);
  EXPECT_GE(world_.host->count(SessionCounter::kRekeyed), 4U);
  EXPECT_EQ(world_.host->count(SessionCounter::kTxDropNoKeys), 1U);  // before the first keys
  EXPECT_EQ(count(SessionCounter::kTxDropNoKeys), 0U);
}

// Who has many addresses proves each of them, and takes each key agreement within 50 ms.
TEST_F(SessionAttackTest, S_60_a_flood_with_cookies_ends_no_session) {
  world_.common.records.rekey_after = 1s;
  world_.common.records.reject_after = 3s;
  const std::uint32_t per_second = std::exchange(world_.common.agreements_per_second, 1);
  world_.start();
  world_.connect();
  const MacKeys unit(public_key_of(world_.unit_secret));
  struct Flooder {
    InProcessUnderlay* at;
    std::optional<Mac> cookie{};
  };
  std::vector<Flooder> flooders;
  for (int i = 0; i < 20; ++i) flooders.push_back({&world_.hub.add_endpoint()});
  const auto flood = [&](Flooder& from) {
    Buffer message = forged_initiation();
    put_macs(message, unit, from.cookie ? &*from.cookie : nullptr);
    from.at->send(world_.unit_at.address(), message, message.size());
    world_.unit->receive();
    while (const auto batch = from.at->receive()) {
      if (type_of(batch->bytes) == MessageType::kCookie)
        from.cookie = open_cookie(batch->bytes, unit, mac1_of(message));
    }
  };
  for (int i = 0; i < 600; ++i) {
    world_.clock.advance(10ms);
    for (Flooder& each : flooders) flood(each);
    world_.send_up(KeyedWorld::payload(60, 1));
    world_.send_down(KeyedWorld::payload(60, 2));
    world_.exchange();
  }
  // All of what the common budget allows goes to them.
  EXPECT_GE(count(SessionCounter::kRxDropHandshake), 54U);
  EXPECT_LE(count(SessionCounter::kRxDropHandshake), 57U);
  EXPECT_GE(world_.host->count(SessionCounter::kRekeyed), 4U);
  EXPECT_EQ(world_.host->count(SessionCounter::kTxDropNoKeys), 1U);  // before the first keys
  EXPECT_EQ(count(SessionCounter::kTxDropNoKeys), 0U);
  // A unit that has just started knows no address: there each source has its share, however fast it
  // sends.
  world_.common.agreements_per_second = per_second;
  world_.make_unit();
  const base::Time began = world_.clock.now();
  while (!world_.is_up() && world_.clock.now() - began < 10s) {
    for (int i = 0; i < 5; ++i) {
      for (Flooder& each : flooders) flood(each);
    }
    world_.send_up(KeyedWorld::payload(88, 1));
    world_.host->receive();
    world_.exchange();
    world_.clock.advance(10ms);
  }
  EXPECT_TRUE(world_.is_up());
}

// Without a cookie an address gets little, also if it is that of a peer.
TEST_F(SessionAttackTest, S_60_a_forged_address_of_a_peer_costs_few_agreements) {
  world_.start();
  world_.connect();
  for (int i = 0; i < 1000; ++i) {
    const Buffer forged = forged_initiation();
    world_.host_at.send(world_.unit_at.address(), forged, forged.size());
    world_.unit->receive();
    world_.clock.advance(1ms);
  }
  // 25 of the burst and 200 per second, nothing else.
  EXPECT_LE(count(SessionCounter::kRxDropHandshake), 25U + 200);
  EXPECT_GT(count(SessionCounter::kTxCookie), 700U);
}

TEST_F(SessionAttackTest, S_60_forged_responses_cost_few_agreements) {
  world_.make_unit();
  world_.make_host();
  world_.unit->fault.set_cut(true);
  world_.send_up(KeyedWorld::payload(88, 1));
  const std::uint32_t index = Initiation::sender(world_.host->path.sent.back());
  for (int i = 0; i < 300; ++i) {
    Buffer forged = random_bytes(random_, kResponseBytes);
    begin_response(forged, random_.next32(), index);
    put_macs(forged, MacKeys(public_key_of(world_.host_secret)), nullptr);
    if (i % 3 == 0) forged[Response::kMac1At] ^= std::byte{1};
    stranger_.send(world_.host_at.address(), forged, forged.size());
    world_.host->receive();
  }
  EXPECT_EQ(world_.host->count(SessionCounter::kRxDropMac), 100U);
  EXPECT_EQ(world_.host->count(SessionCounter::kRxDropHandshake), 50U);
  EXPECT_EQ(world_.host->count(SessionCounter::kRxDropBudget), 150U);
  world_.unit->fault.set_cut(false);
  EXPECT_LT(world_.connect(), 3s);
  expect_session_works();
}

TEST_F(SessionAttackTest, S_53_a_host_replies_to_nobody) {
  world_.start();
  world_.connect();
  const MacKeys host_macs(public_key_of(world_.host_secret));
  for (int i = 0; i < 300; ++i) {
    Buffer forged = random_bytes(random_, kInitiationBytes);
    begin_initiation(forged, random_.next32());
    put_macs(forged, host_macs, nullptr);
    stranger_.send(world_.host_at.address(), forged, forged.size());
    world_.host->receive();
  }
  EXPECT_EQ(replies(), 0U);
  EXPECT_EQ(world_.host->count(SessionCounter::kRxDropUnknownKey), 300U);
  expect_session_works();
}

}  // namespace
}  // namespace splitnic::fabric::session
