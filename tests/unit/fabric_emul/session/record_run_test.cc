// Runs of records: a batch has every effect that its datagrams have one by one.
#include "fabric_emul/session/record_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session::record_run_test {

constexpr std::size_t kPlainBytes = kInitiationBytes - kDataOverheadBytes;

// One of two worlds that are the same but for how the datagrams arrive.
class Side {
 public:
  using Arrived = std::pair<PeerAddress, Buffer>;

  Side(std::uint64_t seed, bool is_to_unit)
      : world_(seed), elsewhere_(world_.hub.add_endpoint()), forbidden_(world_.hub.add_endpoint()) {
    world_.common.records.failed_opens_max = seed % 4 == 0 ? 3 : 1000;
    world_.common.may_be_at = [this](const PublicKey&, const PeerAddress& at) {
      return at != forbidden_.address();
    };
    world_.common.records.rekey_after = is_to_unit ? 1s : 100s;
    world_.common.records.rekey_records = is_to_unit ? 1U << 20 : 12;
    world_.make_unit();
    world_.common.records.rekey_records = 1U << 20;
    world_.make_host();
    world_.connect();
    if (is_to_unit) {
      prepare_unit();
    } else {
      make_records(*world_.unit, world_.host_address, 30);  // the later ones ask for new keys
    }
    receiver_ = is_to_unit ? world_.unit.get() : world_.host.get();
    peer_ = public_key_of(is_to_unit ? world_.host_secret : world_.unit_secret);
  }

  const Datagrams& records() const { return records_; }
  // Delivers datagrams of one length from the endpoint of this number, and what follows from them.
  void deliver(const Datagrams& datagrams, std::size_t from, bool is_together) {
    InProcessUnderlay& source = *std::array{&world_.host_at, &elsewhere_, &forbidden_}.at(from);
    Buffer joined;
    for (const Buffer& datagram : datagrams) {
      joined.insert(joined.end(), datagram.begin(), datagram.end());
      if (is_together) continue;
      source.send(receiver_at(), datagram, datagram.size());
      receive();
    }
    if (is_together) source.send(receiver_at(), joined, kInitiationBytes);
    receive();
  }
  // All that datagrams change: what is passed up, counters, and the peer.
  auto state() const {
    std::map<std::string, std::uint64_t> counters;
    receiver_->keyed.counters().visit(
        [&](std::string_view name, std::uint64_t value) { counters.emplace(name, value); });
    const auto view = receiver_->keyed.view_of(peer_);
    return std::tuple(arrived_, counters, view->endpoint, view->agreed_at,
                      receiver_->keyed.deadline(), receiver_->path.sent);
  }
  std::size_t arrived() const { return arrived_.size(); }
  std::uint64_t count(SessionCounter which) const { return receiver_->count(which); }
  void advance(base::Duration by) { world_.clock.advance(by); }

 private:
  // Records under the previous keys, the current ones, and the next ones, which the unit does not
  // have as its own before the first of these. And an INITIATION.
  void prepare_unit() {
    second_ = world_.make_second_host();
    make_records(*world_.host, world_.unit_address, 12);
    make_records(*second_.node, second_.unit, 6);
    world_.step(1100ms);
    make_records(*world_.host, world_.unit_address, 12);
    world_.clock.advance(1100ms);
    world_.host->receive();
    records_.push_back(world_.host->path.sent.back());
    world_.unit->receive();
    world_.host->path.is_blocked = true;  // the first record under the next keys
    world_.host->receive();
    make_records(*world_.host, world_.unit_address, 2);
    records_.push_back(next_initiation());
    make_records(*world_.host, world_.unit_address, 10);
  }
  // The host has heard nothing for some time.
  Buffer next_initiation() {
    world_.clock.advance(500ms);
    world_.host->keyed.send(world_.unit_address, KeyedWorld::payload(kPlainBytes, ++made_),
                            kPlainBytes);
    const Datagrams& sent = world_.host->path.sent;
    const auto found = std::find_if(sent.rbegin(), sent.rend(), [](const Buffer& datagram) {
      return type_of(datagram) == MessageType::kInitiation;
    });
    return *found;
  }
  // Of kInitiationBytes each, and none of them is delivered.
  void make_records(Node& from, const PeerAddress& to, unsigned count) {
    const bool was_blocked = std::exchange(from.path.is_blocked, true);
    for (unsigned i = 0; i < count; ++i) {
      from.keyed.send(to, KeyedWorld::payload(kPlainBytes, ++made_), kPlainBytes);
      records_.push_back(from.path.sent.back());
    }
    from.path.is_blocked = was_blocked;
  }
  const PeerAddress& receiver_at() const { return receiver_->path.address(); }
  void receive() {
    while (const auto batch = receiver_->keyed.receive()) {
      for (std::size_t at = 0; at < batch->bytes.size(); at += batch->stride) {
        const base::Bytes datagram =
            batch->bytes.subspan(at, std::min(batch->stride, batch->bytes.size() - at));
        arrived_.emplace_back(batch->from, Buffer(datagram.begin(), datagram.end()));
      }
    }
  }

  KeyedWorld world_;
  InProcessUnderlay& elsewhere_;
  InProcessUnderlay& forbidden_;
  KeyedWorld::SecondHost second_;
  Node* receiver_ = nullptr;
  PublicKey peer_;
  Datagrams records_;
  unsigned made_ = 0;
  std::vector<Arrived> arrived_;
};

// A batch that has runs, and everything that ends or disturbs one.
Datagrams draw_batch(const Datagrams& records, std::size_t& next, base::Random& random) {
  Datagrams batch;
  const std::size_t count = 1 + random.next32() % 24;
  while (batch.size() < count) {
    switch (random.next32() % 10) {
      case 0:  // any: again, late, under other keys, of another host, a handshake
        batch.push_back(records[random.next32() % records.size()]);
        break;
      case 1: {  // a flipped bit, also in type, flags, index and counter
        batch.push_back(records[next % records.size()]);
        const std::size_t bytes = random.next32() % 2 == 0 ? kDataHeaderBytes : kInitiationBytes;
        batch.back()[random.next32() % bytes] ^= std::byte{1} << random.next32() % 8;
        break;
      }
      case 2:  // skipped: comes late, or never
        ++next;
        break;
      default:
        batch.push_back(records[next++ % records.size()]);
    }
  }
  return batch;
}

struct Seen {
  std::size_t arrived = 0;
  std::map<SessionCounter, std::uint64_t> counts;
};

void compare(std::uint64_t seed, bool is_to_unit, Seen& seen) {
  Side together(seed, is_to_unit);
  Side apart(seed, is_to_unit);
  ASSERT_EQ(together.records(), apart.records());
  base::SeededRandom random(seed);
  std::size_t next = 0;
  for (int i = 0; i < 6; ++i) {
    const Datagrams batch = draw_batch(together.records(), next, random);
    const std::size_t from = random.next32() % 4 % 3;
    together.deliver(batch, from, true);
    apart.deliver(batch, from, false);
    ASSERT_EQ(together.state(), apart.state()) << "seed " << seed << ", batch " << i;
    const auto by = std::chrono::milliseconds(random.next32() % 300);
    together.advance(by);
    apart.advance(by);
  }
  seen.arrived += together.arrived();
  for (const SessionCounter which :
       {SessionCounter::kRxDropTag, SessionCounter::kRxDropReplay, SessionCounter::kRxDropIndex,
        SessionCounter::kRxDropAddress, SessionCounter::kRxDropFormat,
        SessionCounter::kRxDropExpired, SessionCounter::kRoamed, SessionCounter::kRekeyed,
        SessionCounter::kTxInitiation}) {
    seen.counts[which] += together.count(which);
  }
}

TEST(RecordRunTest, S_55_S_57_R_64_a_batch_does_what_its_datagrams_do_one_by_one) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    compare(seed, seed % 3 != 0, seen);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(seen.arrived, 1000U);
  for (const auto& [which, count] : seen.counts) {
    EXPECT_GT(count, 10U) << "too seldom: counter " << static_cast<int>(which);
  }
}

// The unit replaces keys that no good record has confirmed.
TEST(RecordRunTest, a_handshake_between_records_ends_the_keys_of_those_behind_it) {
  Side side(1, true);
  const Datagrams& records = side.records();
  const auto second_initiation =
      std::find_if(records.rbegin(), records.rend(),
                   [](const auto& one) { return type_of(one) == MessageType::kInitiation; });
  Buffer bad = *std::next(second_initiation);
  bad.back() ^= std::byte{1};
  side.deliver({bad, *second_initiation, *std::next(second_initiation)}, 0, true);
  EXPECT_EQ(side.count(SessionCounter::kRxDropTag), 1U);
  EXPECT_EQ(side.count(SessionCounter::kRxDropIndex), 1U);
  EXPECT_EQ(side.arrived(), 0U);
}

TEST(RecordRunTest, a_good_record_is_news_once) {
  RecordRun run(7, nullptr, nullptr, true);
  EXPECT_TRUE(run.take(false, 0)) << "the first one";
  EXPECT_FALSE(run.take(false, 0));
  EXPECT_TRUE(run.take(true, 0)) << "the first with the highest counter";
  EXPECT_FALSE(run.take(true, 0));
  EXPECT_FALSE(run.take(false, 0));
  EXPECT_TRUE(run.take(true, kDataRekeyPlease)) << "other flags";
  EXPECT_FALSE(run.take(true, kDataRekeyPlease));
  EXPECT_FALSE(run.continues(7)) << "there are no keys: the next record is looked up again";
}

}  // namespace splitnic::fabric::session::record_run_test
