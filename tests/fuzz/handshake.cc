// Both ends of a keyed link, and who can change, keep, repeat and redirect what is between them. An
// input is a datagram to nodes that begin, or steps: either node sends, restarts or moves,
// datagrams arrive as they were or changed, at either node, from any address, once more; time.
// Whatever comes, a plain datagram arrives once and is of the peer's newest process, a session
// begins and an address changes only by what the peer has sent, an INITIATION gets one RESPONSE,
// nobody gets more bytes than were sent, each datagram has one counter, and once it is quiet both
// ends have a session.
#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/endian.h"
#include "base/random.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/session/session_table.h"
#include "tests/fuzz/handshake_attack.h"
#include "tests/fuzz/targets.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace fabric::session;
using namespace handshake_attack;

constexpr int kHandshakeStepsMax = 64;
constexpr std::size_t kDatagramsKept = 24;
constexpr std::size_t kPlainBytes = 16;  // instance of the sender, number
constexpr std::size_t kHostSide = 0, kUnitSide = 1;

// Below the session layer of one node: keeps what it sends, and passes one batch up.
class SessionWire final : public Underlay {
 public:
  struct Batch {
    PeerAddress from;
    Datagram bytes;
    std::size_t stride = 1;
  };
  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(stride, bytes.size()))) {
      const base::Bytes one = bytes.first(std::min(stride, bytes.size()));
      sent.emplace_back(to, Datagram(one.begin(), one.end()));
    }
    return SendStatus::kSent;
  }
  std::optional<Received> receive() override {
    if (!waiting) return std::nullopt;
    current_ = *std::exchange(waiting, std::nullopt);
    return Received{current_.bytes, current_.stride, current_.from};
  }
  std::size_t datagram_bytes_max(const PeerAddress&) const override { return 1472; }
  std::size_t receive_buffer_bytes() const override { return 1 << 20; }
  std::string name_of(const PeerAddress&) const override { return "peer"; }

  std::optional<Batch> waiting;
  std::vector<std::pair<PeerAddress, Datagram>> sent;

 private:
  Batch current_;
};

// The part of a datagram that the keys protect. An index of the sender and mac2 are not of it: who
// changes them on the way prevents a session, and no more.
Datagram core_of(const Datagram& datagram) {
  const auto type = type_of(datagram);
  base::Bytes core = datagram;
  if (type == MessageType::kInitiation) core = session::Initiation::noise(datagram);
  if (type == MessageType::kResponse) core = session::Response::noise(datagram);
  return {core.begin(), core.end()};
}

// One of the two nodes. A restart ends all of its session layer and keeps its key.
struct KeyedNode {
  KeyedNode(const SessionConfig& config, const PeerConfig& other, base::Clock& clock,
            base::Random& random)
      : keyed(wire, config, clock, random), key(other.key), peer(keyed.allow(other).value()) {}
  // Datagrams that it has received, each of which has one name.
  std::uint64_t received() const {
    std::uint64_t all = keyed.counters()[SessionCounter::kTxCookie];
    keyed.counters().visit([&](std::string_view name, std::uint64_t value) {
      if (name.starts_with("session.rx.")) all += value;
    });
    return all;
  }

  SessionWire wire;
  KeyedUnderlay keyed;
  PublicKey key;     // of the other node
  PeerAddress peer;  // above the session layer
};

class HandshakeRun {
 public:
  explicit HandshakeRun(base::Bytes bytes) : in_(bytes), options_(in_.u8()) {
    restart(kHostSide);
    restart(kUnitSide);
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kHandshakeStepsMax; ++steps) step(in_.u8());
    recover();
  }

 private:
  struct Side {
    std::optional<KeyedNode> node;
    std::uint64_t instance = 0;
    std::uint64_t newest = 0;              // instance of the other side that was heard
    std::vector<std::uint64_t> instances;  // of each plain datagram that it has sent
    std::set<std::uint64_t> taken;         // numbers of those that it has received
    std::set<Datagram> cores;              // of what it has sent
    std::set<Datagram> replied;            // cores of INITIATIONs, since its start
  };
  struct Kept {
    std::size_t from = 0;
    Datagram bytes;
  };

  void restart(std::size_t which) {
    Side& side = sides_[which];
    SessionConfig config;
    config.private_key = key_of(1 + which);
    config.instance = ++side.instance;
    config.stamp = [this] { return ++stamp_; };
    if ((options_ & 1U) != 0) {
      config.agreements_burst = 6;
      config.cookies_below = 4;
    }
    if (limits_addresses()) {
      config.may_be_at = [](const PublicKey&, const PeerAddress& at) { return at != kStrangerAt; };
    }
    if ((options_ & 4U) != 0) config.records.rekey_records = 4;
    const PublicKey other = public_key_of(key_of(2 - which));
    side.replied.clear();
    side.node.emplace(
        config, which == kHostSide ? PeerConfig{other, {}, kUnitAt} : PeerConfig{other, {}, {}},
        clock_, random_);
  }
  bool limits_addresses() const { return (options_ & 2U) != 0; }

  void step(unsigned choice) {
    switch (choice % 8) {
      case 0:
        return send_plain(choice >> 3 & 1U, 1 + (choice >> 4) % 4);
      case 1:
      case 2:
      case 3:
        return deliver_kept(choice >> 3, false);
      case 4:
        return deliver_kept(choice >> 3, true);
      case 5:
        clock_.advance(std::chrono::milliseconds(10) * (choice >> 3) * (choice >> 3));
        return run_timers();
      case 6:
        host_at_ = (choice & 8U) != 0 ? kHostAt : kOtherAt;
        return;
      default:
        return choice < 128 ? deliver_newest() : restart(choice >> 3 & 1U);
    }
  }
  void send_plain(std::size_t from, std::size_t count) {
    Side& side = sides_[from];
    std::vector<std::byte> plain(count * kPlainBytes);
    for (std::size_t i = 0; i < count; ++i) {
      base::store_be<std::uint64_t>(&plain[i * kPlainBytes], side.instance);
      base::store_be<std::uint64_t>(&plain[i * kPlainBytes + 8], side.instances.size());
      side.instances.push_back(side.instance);
    }
    side.node->keyed.send(side.node->peer, plain, kPlainBytes);
    keep_sent(from);
  }
  void keep_sent(std::size_t from) {
    Side& side = sides_[from];
    for (auto& [to, datagram] : side.node->wire.sent) {
      side.cores.insert(core_of(datagram));
      kept_.push_back({from, std::move(datagram)});
      if (kept_.size() > kDatagramsKept) kept_.pop_front();
    }
    side.node->wire.sent.clear();
  }
  void run_timers() {
    for (const std::size_t which : {kHostSide, kUnitSide}) {
      CHECK(!sides_[which].node->keyed.receive());
      keep_sent(which);
    }
  }
  PeerAddress address_of_side(std::size_t which) const {
    return which == kHostSide ? host_at_ : kUnitAt;
  }
  void deliver_newest() {
    if (kept_.empty()) return;
    const Kept one = kept_.back();
    deliver(1 - one.from, {one.bytes}, address_of_side(one.from));
  }
  // To the other node or back, from the right address or any; several records as one batch.
  void deliver_kept(unsigned choice, bool is_changed) {
    if (kept_.empty()) return;
    const std::size_t first = in_.below(kept_.size());
    const std::size_t from = kept_[first].from;
    const std::size_t to = (choice & 16U) != 0 ? from : 1 - from;
    std::vector<Datagram> batch{kept_[first].bytes};
    for (std::size_t i = first + 1; i < kept_.size() && (choice & 8U) != 0; ++i) {
      const bool is_alike = kept_[i].from == from && kept_[i].bytes.size() == batch[0].size();
      if (!is_alike || type_of(batch[0]) != MessageType::kData) break;
      batch.push_back(kept_[i].bytes);
    }
    if (is_changed) change(batch[in_.below(batch.size())], to);
    const std::array sources{kHostAt, kOtherAt, kUnitAt, kStrangerAt};
    deliver(to, batch, (choice & 4U) != 0 ? in_.one_of(sources) : address_of_side(from));
  }
  // With the mac1 that everybody can compute for this receiver, or as it is.
  void change(Datagram& datagram, std::size_t to) {
    const std::uint8_t how = in_.u8();
    datagram[in_.below(datagram.size())] ^= std::byte{in_.u8()};
    const auto type = type_of(datagram);
    const bool has_macs = type == MessageType::kInitiation || type == MessageType::kResponse;
    if (has_macs && (how & 1U) != 0) {
      put_macs(datagram, MacKeys(public_key_of(key_of(1 + to))), nullptr);
    }
  }

  // REQUIRES datagrams of one length.
  void deliver(std::size_t to, const std::vector<Datagram>& batch, const PeerAddress& from) {
    run_timers();
    Side& side = sides_[to];
    const Side& other = sides_[1 - to];
    KeyedNode& node = *side.node;
    const bool is_of_peer = std::ranges::any_of(
        batch, [&](const Datagram& one) { return other.cores.contains(core_of(one)); });
    const std::uint64_t received = node.received();
    const std::uint64_t responses = node.keyed.counters()[SessionCounter::kTxResponse];
    const auto before = *node.keyed.view_of(node.key);
    SessionWire::Batch passed{from, {}, batch[0].size()};
    for (const Datagram& one : batch) {
      passed.bytes.insert(passed.bytes.end(), one.begin(), one.end());
    }
    node.wire.waiting = std::move(passed);
    while (const auto got = node.keyed.receive()) take(side, other, *got);
    CHECK(node.received() == received + batch.size());
    const auto after = *node.keyed.view_of(node.key);
    if (after.agreed_at != before.agreed_at) CHECK(is_of_peer);
    if (after.endpoint != before.endpoint) CHECK(is_of_peer && to == kUnitSide);
    if (after.endpoint != before.endpoint) CHECK(after.endpoint == from);
    if (limits_addresses()) CHECK(after.endpoint != kStrangerAt);
    if (node.keyed.counters()[SessionCounter::kTxResponse] != responses) {
      CHECK(is_of_peer && side.replied.insert(core_of(batch[0])).second);
    }
    for (const auto& [at, reply] : node.wire.sent) {
      CHECK(at == after.endpoint || (at == from && reply.size() <= batch[0].size()));
    }
    keep_sent(to);
  }
  // Each plain datagram is one that the peer has sent, arrives once, and never after those of a
  // later process of it.
  static void take(Side& side, const Side& other, const Underlay::Received& got) {
    CHECK(got.from == side.node->peer || got.bytes.empty());
    for (base::Bytes rest = got.bytes; !rest.empty(); rest = rest.subspan(kPlainBytes)) {
      CHECK(got.stride == kPlainBytes && rest.size() >= kPlainBytes);
      const auto instance = base::load_be<std::uint64_t>(rest.data());
      const auto number = base::load_be<std::uint64_t>(rest.data() + 8);
      CHECK(number < other.instances.size() && other.instances[number] == instance);
      CHECK(side.taken.insert(number).second);
      CHECK(instance >= side.newest);
      side.newest = instance;
    }
  }
  // Undisturbed, a datagram of each side arrives within a few seconds.
  void recover() {
    clock_.advance(std::chrono::seconds(200));
    run_timers();
    for (const std::size_t from : {kHostSide, kUnitSide}) {
      const std::size_t taken = sides_[1 - from].taken.size();
      for (int i = 0; i < 60 && sides_[1 - from].taken.size() == taken; ++i) {
        kept_.clear();
        run_timers();
        send_plain(from, 1);
        pass_all();
        clock_.advance(std::chrono::milliseconds(100));
      }
      CHECK(sides_[1 - from].taken.size() > taken);
    }
  }
  void pass_all() {
    for (int i = 0; i < 16 && !kept_.empty(); ++i) {
      const Kept one = kept_.front();
      kept_.pop_front();
      deliver(1 - one.from, {one.bytes}, address_of_side(one.from));
    }
  }

  support::Input in_;
  const std::uint8_t options_;
  base::ManualClock clock_;
  base::SeededRandom random_{3};
  std::uint64_t stamp_ = std::uint64_t{1} << 62;
  PeerAddress host_at_ = kHostAt;
  std::array<Side, 2> sides_;
  std::deque<Kept> kept_;
};

}  // namespace

// A datagram as it stands, and with mac1 of a message to either node made right. Bytes that begin
// with no type of message are steps of one byte and more.
void handshake(base::Bytes in) {
  if (in.empty()) return;
  if (in[0] < std::byte{0x80}) return HandshakeRun(in).all();
  if (!type_of(in)) return;
  attack(in);
  attack_under_load(in);
  if (in.size() != kInitiationBytes && in.size() != kResponseBytes) return;
  for (const std::uint64_t receiver : {1U, 2U}) {
    Datagram made(in.begin(), in.end());
    put_macs(made, MacKeys(public_key_of(key_of(receiver))), nullptr);
    std::ranges::copy(in.last(kMacBytes), made.end() - kMacBytes);
    attack(made);
    attack_under_load(made);
  }
}

}  // namespace splitnic::fuzz
