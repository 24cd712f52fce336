// A datagram of a stranger between two nodes that begin a session: it changes nothing, whatever it
// is. For the fuzz target handshake.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/session/session_table.h"

namespace splitnic::fuzz::handshake_attack {

using namespace fabric;
using namespace fabric::session;
using Datagram = std::vector<std::byte>;

inline Secret key_of(std::uint64_t seed) {
  base::SeededRandom random(seed);
  return random_private_key(random);
}

inline PeerAddress address_at(std::byte number) {
  PeerAddress address;
  address.bytes[0] = number;
  return address;
}
inline const PeerAddress kHostAt = address_at(std::byte{1});
inline const PeerAddress kUnitAt = address_at(std::byte{2});
inline const PeerAddress kStrangerAt = address_at(std::byte{3});
inline const PeerAddress kOtherAt = address_at(std::byte{4});

// A node with one peer; what it sends is kept. With few agreements it is under load.
struct Node {
  Node(std::uint64_t own, std::uint64_t other, const std::optional<PeerAddress>& endpoint,
       std::uint32_t agreements = SessionConfig().agreements_burst)
      : random(own),
        table(config_of(own, agreements), random, [this](const PeerAddress& to, base::Bytes d) {
          sent.emplace_back(to, Datagram(d.begin(), d.end()));
        }) {
    const PublicKey key = public_key_of(key_of(other));
    CHECK(table.allow({key, {}, endpoint}));
    peer = table.by_address(address_of(key));
  }
  SessionConfig config_of(std::uint64_t own, std::uint32_t agreements) {
    SessionConfig config;
    config.agreements_burst = agreements;
    config.private_key = key_of(own);
    config.instance = own;
    config.stamp = [this] { return ++stamp; };
    return config;
  }
  void take(base::Time now, base::Bytes datagram, const PeerAddress& from) {
    const auto type = type_of(datagram);
    if (type && *type != MessageType::kData) table.on_message(now, *type, datagram, from);
  }

  std::uint64_t stamp = std::uint64_t{1} << 62;
  base::SeededRandom random;
  std::vector<std::pair<PeerAddress, Datagram>> sent;
  SessionTable table;
  Peer* peer = nullptr;
};

// Whatever arrives, a stranger gets no more than was sent, no session begins by it, and the one
// between the two nodes does.
inline void attack(base::Bytes datagram) {
  base::Time now = base::Time() + std::chrono::seconds(1000);
  Node host(1, 2, kUnitAt);
  Node unit(2, 1, std::nullopt);
  host.table.on_sending(now, *host.peer);
  const Datagram initiation = std::exchange(host.sent, {}).front().second;
  host.take(now, datagram, kStrangerAt);
  CHECK(host.sent.empty());
  unit.take(now, datagram, kStrangerAt);
  for (const auto& [to, reply] : unit.sent) {
    CHECK(to == kStrangerAt && reply.size() <= datagram.size());
  }
  CHECK(!host.peer->has_session(now) && !unit.peer->has_session(now));
  unit.sent.clear();
  unit.take(now, initiation, kHostAt);
  CHECK(unit.sent.size() == 1 && unit.sent.front().first == kHostAt);
  host.take(now, unit.sent.front().second, kUnitAt);
  CHECK(host.peer->has_session(now));
}

// The same with a unit that requires cookies. A stranger's datagram has none.
inline void attack_under_load(base::Bytes datagram) {
  base::Time now = base::Time() + std::chrono::seconds(1000);
  Node host(1, 2, kUnitAt);
  Node unit(2, 1, std::nullopt, 10);
  host.table.on_sending(now, *host.peer);
  const Datagram first = std::exchange(host.sent, {}).front().second;
  unit.take(now, first, kHostAt);
  CHECK(unit.sent.size() == 1 && type_of(unit.sent.front().second) == MessageType::kCookie);
  const Datagram cookie = std::exchange(unit.sent, {}).front().second;
  CHECK(cookie.size() <= first.size());
  unit.take(now, datagram, kStrangerAt);
  for (const auto& [to, reply] : std::exchange(unit.sent, {})) {
    CHECK(to == kStrangerAt && type_of(reply) == MessageType::kCookie);
    CHECK(reply.size() <= datagram.size());
  }
  host.take(now, datagram, kUnitAt);
  host.take(now, cookie, kUnitAt);
  CHECK(!host.peer->has_session(now));
  now += std::chrono::seconds(3);
  host.table.on_time(now);
  CHECK(host.sent.size() == 1);
  unit.take(now, host.sent.front().second, kHostAt);
  CHECK(unit.sent.size() == 1 && type_of(unit.sent.front().second) == MessageType::kResponse);
  host.take(now, unit.sent.front().second, kUnitAt);
  CHECK(host.peer->has_session(now));
}

}  // namespace splitnic::fuzz::handshake_attack
