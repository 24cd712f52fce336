// The life of keys: rekeys, limits, and the repetition of INITIATION.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

using Status = Underlay::SendStatus;

TEST(SessionTimersTest, R_64_rekeys_under_load_lose_nothing) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.unit->received.clear();
  world.host->received.clear();
  unsigned sent = 0;
  for (; sent < 4000; ++sent) {  // 400 s, three rekeys
    ASSERT_EQ(world.send_up(KeyedWorld::payload(200, sent)), Status::kSent) << sent;
    ASSERT_EQ(world.send_down(KeyedWorld::payload(100, sent)), Status::kSent) << sent;
    world.step(100ms);
  }
  ASSERT_EQ(world.unit->received.size(), sent);
  ASSERT_EQ(world.host->received.size(), sent);
  for (unsigned i = 0; i < sent; ++i) {
    ASSERT_EQ(world.unit->received[i], KeyedWorld::payload(200, i));
    ASSERT_EQ(world.host->received[i], KeyedWorld::payload(100, i));
  }
  EXPECT_EQ(world.host->count(SessionCounter::kRekeyed), 3U);
  EXPECT_EQ(world.unit->count(SessionCounter::kRekeyed), 3U);
  EXPECT_EQ(world.host->count(SessionCounter::kTxDropNoKeys), 1U);  // before the first keys
}

// The same with records in flight while keys change: they arrive late, under the previous keys.
TEST(SessionTimersTest, R_64_records_under_the_previous_keys_arrive) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->fault.set_config({.delay = 30ms});
  world.unit->fault.set_config({.delay = 30ms});
  world.unit->received.clear();
  world.host->received.clear();
  for (unsigned i = 0; i < 3000; ++i) {
    ASSERT_EQ(world.send_up(KeyedWorld::payload(64, i)), Status::kSent);
    ASSERT_EQ(world.send_down(KeyedWorld::payload(64, i)), Status::kSent);
    world.step(50ms);
  }
  world.step(100ms);
  EXPECT_GE(world.host->count(SessionCounter::kRekeyed), 1U);
  EXPECT_EQ(world.unit->received.size(), 3000U);
  EXPECT_EQ(world.host->received.size(), 3000U);
}

TEST(SessionTimersTest, R_64_keys_are_replaced_by_number_of_records_and_never_used_beyond) {
  for (const bool is_host_sending : {true, false}) {
    KeyedWorld world;
    world.common.records.rekey_records = 1000;
    world.common.records.reject_records = 2000;
    world.start();
    world.connect();
    for (unsigned i = 0; i < 3000; ++i) {
      // The other side sends now and then, as IDLE does.
      const bool is_up = is_host_sending || i % 50 == 0;
      const bool is_down = !is_host_sending || i % 50 == 0;
      if (is_up) world.send_up(KeyedWorld::payload(32, i));
      if (is_down) world.send_down(KeyedWorld::payload(32, i));
      world.step(1ms);
    }
    EXPECT_GE(world.host->count(SessionCounter::kRekeyed), 2U);
    EXPECT_LE(world.host->count(SessionCounter::kTxDropNoKeys), 1U);  // before the first keys
    EXPECT_EQ(world.unit->count(SessionCounter::kTxDropNoKeys), 0U);
  }
  // Without a reply the keys end, and nothing leaves under them.
  KeyedWorld world;
  world.common.records.rekey_records = 1000;
  world.common.records.reject_records = 2000;
  world.start();
  world.connect();
  world.host->fault.set_cut(true);
  world.unit->fault.set_cut(true);
  std::uint64_t before = world.host->count(SessionCounter::kTxRecord);
  for (unsigned i = 0; i < 5000; ++i) world.send_up(KeyedWorld::payload(32, i));
  EXPECT_LE(world.host->count(SessionCounter::kTxRecord) - before, 2000U);
  EXPECT_FALSE(world.host->keyed.has_session(world.unit_address));
  // A long record counts as 32.
  KeyedWorld longer;
  longer.common.records.rekey_records = 1000;
  longer.common.records.reject_records = 2000;
  longer.start();
  longer.connect();
  longer.host->fault.set_cut(true);
  before = longer.host->count(SessionCounter::kTxRecord);
  for (unsigned i = 0; i < 500; ++i) longer.send_up(KeyedWorld::payload(2049, i), 2049);
  EXPECT_LE(longer.host->count(SessionCounter::kTxRecord) - before, 63U);
}

TEST(SessionTimersTest, keys_end_after_180_s_and_the_session_comes_back) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.step(181s);
  EXPECT_FALSE(world.host->keyed.has_session(world.unit_address));
  EXPECT_FALSE(world.unit->keyed.has_session(world.host_address));
  EXPECT_EQ(world.send_down(KeyedWorld::payload(8, 1)), Status::kRefused);
  EXPECT_LT(world.connect(), 1s);
  EXPECT_TRUE(world.is_up());
}

TEST(SessionTimersTest, R_64_an_idle_link_begins_handshakes_for_rekeys_only) {
  KeyedWorld world;
  world.common.records.rekey_after = 20s;
  world.start();
  world.connect();
  for (int i = 0; i < 2050; ++i) world.step(100ms);
  EXPECT_EQ(world.host->count(SessionCounter::kTxInitiation), 1U + 10);
  EXPECT_TRUE(world.is_up());
}

TEST(SessionTimersTest, R_64_previous_keys_open_for_10_s) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->path.is_blocked = true;
  world.send_up(KeyedWorld::payload(30, 1));
  const Buffer late = world.host->path.sent.back();
  world.send_up(KeyedWorld::payload(30, 2));
  const Buffer too_late = world.host->path.sent.back();
  world.host->path.is_blocked = false;
  world.step(120s);
  ASSERT_EQ(world.unit->count(SessionCounter::kRekeyed), 1U);
  world.unit->received.clear();
  world.clock.advance(9900ms);
  world.host_at.send(world.unit_at.address(), late, late.size());
  world.unit->receive();
  EXPECT_EQ(world.unit->received, Datagrams{KeyedWorld::payload(30, 1)});
  world.clock.advance(200ms);
  world.host_at.send(world.unit_at.address(), too_late, too_late.size());
  world.unit->receive();
  EXPECT_EQ(world.unit->received.size(), 1U);
  EXPECT_EQ(world.unit->count(SessionCounter::kRxDropIndex), 1U);
}

TEST(SessionTimersTest, an_initiation_is_repeated_later_and_later_and_never_the_same) {
  KeyedWorld world;
  world.make_host();
  world.send_up(KeyedWorld::payload(88, 1));
  std::vector<base::Time> times{world.clock.now()};
  while (times.size() < 9) {
    world.clock.advance(1ms);
    world.host->receive();
    const auto sent = world.host->count(SessionCounter::kTxInitiation);
    if (sent > times.size()) times.push_back(world.clock.now());
  }
  base::Duration wait = 100ms;
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], wait) << i;
    EXPECT_LE(times[i] - times[i - 1], wait + wait / 3 + 1ms) << i;
    wait = std::min<base::Duration>(2 * wait, 2s);
  }
  EXPECT_EQ(world.stamp, times.size());  // each has a stamp for itself
  std::set<Buffer> ephemerals;
  for (const Buffer& message : world.host->path.sent) {
    ephemerals.emplace(message.begin() + 8, message.begin() + 40);
  }
  EXPECT_EQ(ephemerals.size(), times.size());
}

// The link above got BYE: the datagram that asks for the peer waits for the keys of its successor.
TEST(SessionTimersTest, B_13_keys_end_with_the_peer_and_its_successor_is_sought_often) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->keyed.on_peer_stopped(world.unit_address);
  EXPECT_FALSE(world.host->keyed.has_session(world.unit_address));
  world.make_unit();
  world.host->fault.set_cut(true);
  const auto before = world.host->count(SessionCounter::kTxInitiation);
  const auto sent = [&] { return world.host->count(SessionCounter::kTxInitiation) - before; };
  world.step(100ms);
  EXPECT_EQ(sent(), 0U) << "nothing was to be sent";
  EXPECT_EQ(world.send_up(KeyedWorld::payload(72, 5)), Status::kRefused);
  EXPECT_EQ(sent(), 1U);
  for (int i = 0; i < 900; ++i) world.step(1ms);
  EXPECT_GE(sent(), 13U);
  EXPECT_LE(sent(), 19U);
  const auto soon = sent();
  for (int i = 0; i < 10'000; ++i) world.step(1ms);
  EXPECT_LE(sent(), soon + 10) << "the steps get longer again";
  world.host->fault.set_cut(false);
  for (int i = 0; i < 3000 && !world.is_up(); ++i) world.step(1ms);
  EXPECT_EQ(world.unit->last(), KeyedWorld::payload(72, 5));
}

// The unit was killed: until 5 s after its last record it is sought every 200 ms, and a third at
// random.
TEST(SessionTimersTest, F_46_a_responder_that_fell_silent_is_sought_often) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->fault.set_cut(true);
  world.unit->fault.set_cut(true);
  const auto before = world.host->count(SessionCounter::kTxInitiation);
  const auto sent = [&] { return world.host->count(SessionCounter::kTxInitiation) - before; };
  const auto send_for = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      world.send_up(KeyedWorld::payload(72, 5));
      world.step(10ms);
    }
  };
  send_for(500);  // of them 400 ms until the silence is noticed
  EXPECT_GE(sent(), 17U);
  EXPECT_LE(sent(), 24U);
  const auto soon = sent();
  send_for(2000);
  EXPECT_LE(sent(), soon + 13) << "the steps get longer again";
}

// A satellite: each RESPONSE takes 600 ms, longer than INITIATION waits at first, and than it waits
// at most where a responder may be back.
class SlowPathTest : public testing::Test {
 protected:
  SlowPathTest() {
    world_.common.on_fault = [this](HandshakeFault, const PublicKey&, const PeerAddress&) {
      ++faults_;
    };
    world_.common.records.rekey_after = 20s;
    world_.start();
  }
  void set_delay(base::Duration delay) {
    world_.host->fault.set_config({.delay = delay});
    world_.unit->fault.set_config({.delay = delay});
  }
  std::uint64_t initiations() { return world_.host->count(SessionCounter::kTxInitiation); }

  KeyedWorld world_;
  unsigned faults_ = 0;
};

TEST_F(SlowPathTest, a_late_response_is_not_one_under_another_pre_shared_key) {
  set_delay(300ms);
  EXPECT_LT(world_.connect(), 2s);
  EXPECT_TRUE(world_.is_up());
  EXPECT_GT(world_.host->count(SessionCounter::kRxDropHandshake), 0U) << "of the first INITIATIONs";
  EXPECT_EQ(faults_, 0U);
}

TEST_F(SlowPathTest, R_64_each_rekey_takes_one_initiation) {
  set_delay(300ms);
  world_.connect();
  const std::uint64_t before = initiations();
  for (int i = 0; i < 1050; ++i) world_.step(100ms);
  EXPECT_EQ(world_.host->count(SessionCounter::kRekeyed), 5U);
  EXPECT_EQ(initiations() - before, 5U);
}

TEST_F(SlowPathTest, B_13_a_responder_that_stopped_is_back_after_one_initiation) {
  set_delay(300ms);
  world_.connect();
  world_.host->keyed.on_peer_stopped(world_.unit_address);
  const std::uint64_t before = initiations();
  EXPECT_LT(world_.connect(), 1s);
  EXPECT_EQ(initiations() - before, 1U);
}

// A COOKIE has no mac1: whoever sees an index on the way could slow the search down by one.
TEST_F(SlowPathTest, a_late_cookie_changes_no_timer) {
  world_.connect();
  world_.host->path.is_blocked = true;
  world_.unit->fault.set_cut(true);
  const std::uint64_t before = initiations();
  Buffer first;
  for (int i = 0; i < 400; ++i) {
    world_.send_up(KeyedWorld::payload(72, 5));
    world_.step(10ms);
    const Buffer& last = world_.host->path.sent.back();
    if (first.empty() && type_of(last) == MessageType::kInitiation) first = last;
    if (initiations() - before == 2 && !first.empty()) {
      std::array<std::byte, kCookieBytes> cookie{};
      cookie[0] = std::byte{0x83};
      cookie[1] = std::byte{1};
      std::copy_n(first.begin() + 4, 4, cookie.begin() + 4);
      world_.unit_at.send(world_.host_at.address(), cookie, cookie.size());
    }
  }
  EXPECT_GE(initiations() - before, 12U) << "every 200 ms, and a third at random";
}

// The path was fast when the last keys were agreed.
TEST_F(SlowPathTest, F_46_a_path_that_became_slow_gets_keys_in_the_time_of_silence) {
  world_.connect();
  set_delay(300ms);
  world_.make_unit();
  set_delay(300ms);
  EXPECT_LT(world_.connect(), 3s);
  EXPECT_TRUE(world_.is_up());
  EXPECT_EQ(faults_, 0U);
}

// Keys that are agreed end the search: a later handshake has its own times again.
TEST(SessionTimersTest, B_13_a_peer_that_is_back_is_not_sought_any_more) {
  KeyedWorld world;
  world.start();
  world.connect();
  world.host->keyed.on_peer_stopped(world.unit_address);
  world.connect();
  world.unit->keyed.on_peer_stopped(world.host_address);
  EXPECT_TRUE(world.unit->keyed.has_session(world.host_address))
      << "only who initiates begins again";
  world.host->keyed.end_session(public_key_of(world.unit_secret));
  world.host->fault.set_cut(true);
  const auto before = world.host->count(SessionCounter::kTxInitiation);
  world.send_up(KeyedWorld::payload(72, 5));
  for (int i = 0; i < 95; ++i) world.step(1ms);
  EXPECT_EQ(world.host->count(SessionCounter::kTxInitiation) - before, 1U);
}

// 64 hosts of one unit, which is back after 130 ms: all have keys 300 ms later, and the unit
// replies to the others of the first moment by COOKIE.
TEST(SessionTimersTest, B_13_64_hosts_return_at_the_same_time) {
  constexpr std::size_t kHosts = 64;
  KeyedWorld world;
  world.make_unit();
  struct One {
    std::unique_ptr<Node> node;
    PeerAddress unit;
    Secret secret;
  };
  std::vector<One> hosts;
  const auto allow_all = [&] {
    for (const One& one : hosts) {
      ASSERT_TRUE(world.unit->keyed.allow({public_key_of(one.secret), {}, {}}));
    }
  };
  for (std::size_t i = 0; i < kHosts; ++i) {
    One one{nullptr, {}, KeyedWorld::make_secret(100 + i)};
    one.node = world.make_node(world.hub.add_endpoint(), one.secret);
    one.unit =
        one.node->keyed.allow({public_key_of(world.unit_secret), {}, world.unit_at.address()})
            .value();
    hosts.push_back(std::move(one));
  }
  allow_all();
  const auto up = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(
        hosts, [](const One& one) { return one.node->keyed.has_session(one.unit); }));
  };
  const auto run = [&](base::Duration span, base::Duration step = 1ms) {
    const base::Time end = world.clock.now() + span;
    while (world.clock.now() < end) {
      world.clock.advance(step);
      world.unit->receive();
      for (One& one : hosts) one.node->receive();
    }
  };
  const auto all_send = [&] {
    for (One& one : hosts) one.node->keyed.send(one.unit, KeyedWorld::payload(72, 1), 72);
  };
  all_send();
  run(10s, 20ms);
  ASSERT_EQ(up(), kHosts);

  for (One& one : hosts) one.node->keyed.on_peer_stopped(one.unit);
  world.unit_at.set_plugged(false);
  run(100ms);
  all_send();  // HELLO
  run(30ms);
  world.make_unit();
  allow_all();
  world.unit_at.set_plugged(true);
  run(300ms);
  EXPECT_EQ(up(), kHosts);
  EXPECT_GT(world.unit->count(SessionCounter::kTxCookie), 0U);
  EXPECT_LE(world.unit->count(SessionCounter::kTxResponse), kHosts + kHosts / 4);
}

}  // namespace
}  // namespace splitnic::fabric::session
