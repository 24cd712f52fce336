// The share of its throughput that an attached host keeps while strangers flood the unit with
// INITIATIONs. Time moves by what each message costs the unit, so the share is the same in each
// run.
#include <gtest/gtest.h>

#include "fabric_emul/session/cookie.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

// Measured on a processor with VAES: a key agreement is four of X25519, of 46 us each; mac1 is an
// HMAC of 1.3 us; a cookie is two more and a record. What a record costs with all that is behind it
// does not change the share.
constexpr base::Duration kAgreement = 200us;
constexpr base::Duration kCookieCost = 5us;
constexpr base::Duration kDropped = 1500ns;
constexpr base::Duration kRecord = 10us;

constexpr base::Duration kFloodInterval = 10us;  // 10^5 per second
constexpr std::size_t kSources = 1000;

class FloodShareTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < kSources; ++i) sources_.push_back(&world_.hub.add_endpoint());
    world_.start();
    world_.connect();
  }

  // Returns the records of the host that the unit took within the span. Both fill its queue, the
  // flood first, and what finds it full is lost.
  std::uint64_t records_in(base::Duration span, bool is_flooded) {
    const std::uint64_t before = count(SessionCounter::kRxRecord);
    base::Time next = world_.clock.now();
    for (const base::Time end = next + span; world_.clock.now() < end;) {
      for (; is_flooded && next <= world_.clock.now(); next += kFloodInterval) flood();
      while (world_.unit_at.queued_batches() < kQueueFull) world_.send_up(payload_);
      take_one();
      world_.host->path.sent.clear();
      world_.host->path.strides.clear();
      world_.unit->path.sent.clear();
      world_.unit->path.strides.clear();
    }
    return count(SessionCounter::kRxRecord) - before;
  }
  std::uint64_t count(SessionCounter which) const { return world_.unit->count(which); }
  std::uint64_t agreements() const {
    return count(SessionCounter::kRxDropHandshake) + count(SessionCounter::kRxInitiation);
  }

  std::size_t sent_bytes_ = 0, received_bytes_ = 0;  // by the flood

 private:
  static constexpr std::size_t kQueueFull = 60;

  void flood() {
    InProcessUnderlay& from = *sources_[next_source_++ % kSources];
    Buffer message = random_bytes(random_, kInitiationBytes);
    begin_initiation(message, random_.next32());
    put_macs(message, unit_macs_, nullptr);
    if (from.send(world_.unit_at.address(), message, message.size()) ==
        Underlay::SendStatus::kSent) {
      sent_bytes_ += message.size();
    }
    while (const auto reply = from.receive()) received_bytes_ += reply->bytes.size();
  }
  // The unit takes one datagram.
  void take_one() {
    const std::uint64_t cookies = count(SessionCounter::kTxCookie);
    const std::uint64_t records = count(SessionCounter::kRxRecord);
    const std::uint64_t agreed = agreements();
    static_cast<void>(world_.unit->keyed.receive());
    if (agreements() > agreed) {
      world_.clock.advance(kAgreement);
    } else if (count(SessionCounter::kTxCookie) > cookies) {
      world_.clock.advance(kCookieCost);
    } else {
      world_.clock.advance(count(SessionCounter::kRxRecord) > records ? kRecord : kDropped);
    }
    // A reply, so that the host does not ask for new keys.
    if (++taken_ % 1000 == 0) world_.send_down(payload_);
    world_.host->receive();
    world_.host->received.clear();
  }

  KeyedWorld world_;
  base::SeededRandom random_{60};
  std::vector<InProcessUnderlay*> sources_;
  const MacKeys unit_macs_{public_key_of(world_.unit_secret)};
  const Buffer payload_ = KeyedWorld::payload(64, 1);
  std::size_t next_source_ = 0;
  std::uint64_t taken_ = 0;
};

TEST_F(FloodShareTest, S_60_an_attached_host_keeps_80_percent_under_100000_initiations_per_second) {
  const std::uint64_t alone = records_in(200ms, false);
  EXPECT_GT(alone, 15'000U);
  records_in(300ms, true);  // until cookies are required
  const std::uint64_t agreed = agreements();
  const std::uint64_t sessions = count(SessionCounter::kEstablished);
  const std::uint64_t flooded = records_in(1s, true);
  EXPECT_GE(flooded * 100, 5 * alone * 80);
  EXPECT_LE(agreements() - agreed, 205U);
  EXPECT_GT(count(SessionCounter::kRxDropBudget), 50'000U) << "the flood arrives";
  EXPECT_EQ(count(SessionCounter::kEstablished), sessions);
  EXPECT_LE(received_bytes_, sent_bytes_);
  EXPECT_GT(received_bytes_, 0U);
}

}  // namespace
}  // namespace splitnic::fabric::session
