// Keys over real sockets and in real time: short-lived keys under load.
#include <gtest/gtest.h>
#include <poll.h>

#include "base/endian.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session::keyed_udp_test {

using namespace std::chrono_literals;

constexpr std::size_t kDatagramBytes = 1436;
constexpr unsigned kBatch = 20;
constexpr unsigned kInFlightMax = 400;  // of one direction: less than the receive buffers hold

// One end: numbers the datagrams that it sends, and expects those of the other end once, in order.
struct UdpEnd {
  UdpEnd(const UdpConfig& udp, const SessionConfig& config, std::uint64_t seed)
      : random(seed),
        socket(UdpUnderlay::open(udp).value()),
        keyed(*socket, config, clock, random) {}

  std::uint64_t count(SessionCounter which) const { return keyed.counters()[which]; }

  bool send_batch() {
    Buffer batch(kBatch * kDatagramBytes);
    for (unsigned i = 0; i < kBatch; ++i) {
      base::store_be(&batch[i * kDatagramBytes], sent + i);
    }
    if (keyed.send(peer, batch, kDatagramBytes) != Underlay::SendStatus::kSent) {
      keyed.forget(batch);
      return false;
    }
    sent += kBatch;
    return true;
  }
  void receive() {
    while (const auto batch = keyed.receive()) {
      if (batch->bytes.size() < kDatagramBytes) continue;  // from before the load
      for (std::size_t at = 0; at < batch->bytes.size(); at += kDatagramBytes) {
        ASSERT_EQ(base::load_be<std::uint64_t>(&batch->bytes[at]), received);
        ++received;
      }
    }
  }

  base::SystemClock clock;
  base::SeededRandom random;
  std::unique_ptr<UdpUnderlay> socket;
  KeyedUnderlay keyed;
  PeerAddress peer;
  std::uint64_t sent = 0, received = 0;
};

SessionConfig config_of(unsigned number) {
  static std::uint64_t stamp = 0;
  SessionConfig config;
  base::SeededRandom random(number);
  config.private_key = random_private_key(random);
  config.instance = number;
  config.stamp = [] { return ++stamp; };
  config.records.rekey_after = 30ms;
  config.records.reject_after = 10s;
  return config;
}

void wait_for_either(const UdpEnd& a, const UdpEnd& b) {
  pollfd both[] = {{a.socket->fd(), POLLIN, 0}, {b.socket->fd(), POLLIN, 0}};
  ::poll(both, 2, 1);
}

TEST(KeyedUdpTest, R_64_new_keys_under_load_lose_no_datagram) {
  const SessionConfig unit_config = config_of(1);
  const SessionConfig host_config = config_of(2);
  UdpEnd unit({.bind = "127.0.0.1:0"}, unit_config, 3);
  const PeerAddress at = unit.socket->local_address();
  UdpEnd host({.connect = unit.socket->name_of(at)}, host_config, 4);
  host.peer = host.keyed.allow({public_key_of(unit_config.private_key), {}, at}).value();
  unit.peer = unit.keyed.allow({public_key_of(host_config.private_key), {}, {}}).value();
  const auto patience = host.clock.now() + 60s;
  while (!unit.keyed.has_session(unit.peer) && host.clock.now() < patience) {
    host.keyed.send(host.peer, Buffer(1), 1);
    wait_for_either(host, unit);
    host.receive();
    unit.receive();
  }
  ASSERT_TRUE(unit.keyed.has_session(unit.peer));

  const auto end = host.clock.now() + 1s;
  while (host.clock.now() < end) {
    for (UdpEnd* from : {&host, &unit}) {
      const UdpEnd& to = from == &host ? unit : host;
      while (from->sent - to.received < kInFlightMax && from->send_batch()) {
      }
    }
    host.receive();
    unit.receive();
  }
  while ((host.sent > unit.received || unit.sent > host.received) && host.clock.now() < patience) {
    wait_for_either(host, unit);
    host.receive();
    unit.receive();
  }
  EXPECT_EQ(unit.received, host.sent);
  EXPECT_EQ(host.received, unit.sent);
  EXPECT_GT(host.sent, 10U * kInFlightMax);
  for (const UdpEnd* end_of : {&host, &unit}) {
    EXPECT_GE(end_of->count(SessionCounter::kRekeyed), 3U);
    for (const SessionCounter drop :
         {SessionCounter::kRxDropFormat, SessionCounter::kRxDropIndex, SessionCounter::kRxDropTag,
          SessionCounter::kRxDropReplay, SessionCounter::kRxDropExpired}) {
      EXPECT_EQ(end_of->count(drop), 0U) << static_cast<int>(drop);
    }
  }
}

}  // namespace splitnic::fabric::session::keyed_udp_test
