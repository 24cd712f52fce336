#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "fabric_emul/session/session_table.h"
#include "tests/fuzz/targets.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace fabric::session;
using Datagram = std::vector<std::byte>;

Secret key_of(std::uint64_t seed) {
  base::SeededRandom random(seed);
  return random_private_key(random);
}

PeerAddress address_at(std::byte number) {
  PeerAddress address;
  address.bytes[0] = number;
  return address;
}
const PeerAddress kHostAt = address_at(std::byte{1});
const PeerAddress kUnitAt = address_at(std::byte{2});
const PeerAddress kStrangerAt = address_at(std::byte{3});

// A node with one peer; what it sends is kept.
struct Node {
  Node(std::uint64_t own, std::uint64_t other, const std::optional<PeerAddress>& endpoint)
      : random(own), table(config_of(own), random, [this](const PeerAddress& to, base::Bytes d) {
          sent.emplace_back(to, Datagram(d.begin(), d.end()));
        }) {
    const PublicKey key = public_key_of(key_of(other));
    CHECK(table.allow({key, {}, endpoint}));
    peer = table.by_address(address_of(key));
  }
  SessionConfig config_of(std::uint64_t own) {
    SessionConfig config;
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
void attack(base::Bytes datagram) {
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

}  // namespace

// The input as it stands, and with mac1 of a message to either node made right.
void handshake(base::Bytes in) {
  if (!type_of(in)) return;
  attack(in);
  if (in.size() != kInitiationBytes && in.size() != kResponseBytes) return;
  for (const std::uint64_t receiver : {1U, 2U}) {
    Datagram made(in.begin(), in.end());
    put_macs(made, MacKeys(public_key_of(key_of(receiver))), nullptr);
    std::ranges::copy(in.last(kMacBytes), made.end() - kMacBytes);
    attack(made);
  }
}

}  // namespace splitnic::fuzz
