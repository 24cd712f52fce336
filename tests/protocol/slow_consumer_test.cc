// A consumer that polls rarely or never, that posts no receives, or is 100 times slower than the
// others: its own queue pair waits or ends, and all others keep their rate and their order.
#include <gtest/gtest.h>

#include <array>

#include "base/memory_account.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::slow_consumer_test {

using namespace std::chrono_literals;

enum class Consumer : std::uint8_t {
  kAbsent,
  kQuick,
  kSlow,
  kTakesNothing,
  kNeverPolls,
  kNeverPollsSends
};

constexpr std::size_t kDepth = 64;  // of the queues of the one
constexpr std::size_t kBytes = 1000;
constexpr base::Duration kSpan = 500us;

// End 0 receives from 1 and from 2. From 1 there is one queue pair more, whose consumers at both
// ends have completion queues for themselves.
class World {
 public:
  explicit World(Consumer consumer) : consumer_(consumer), pair_(options()) {
    for (std::size_t from : {1U, 1U, 2U, 2U}) {
      const QpPair qp = pair_.connect_all({QpInit{}}, from).at(0);
      streams_.push_back(
          std::make_unique<Stream>(pair_.end(from), qp.b, pair_.a(), qp.a,
                                   Stream::Config{.packets = 1'000'000, .bytes_max = 1000}));
    }
    connect_one();
  }
  static PairOptions options() {
    PairOptions out;
    out.ends = 3;
    return out;
  }

  // Returns the number of packets of the others that arrived.
  std::uint64_t run() {
    const std::uint64_t memory = account_.used();
    const auto arrived = [&] {
      std::uint64_t sum = 0;
      for (const auto& stream : streams_) sum += stream->received();
      return sum;
    };
    const std::uint64_t before = arrived();
    for (const base::Time end = pair_.now() + kSpan; pair_.now() < end; ++round_) {
      for (const auto& stream : streams_) {
        stream->step();
        EXPECT_EQ(stream->failure, "");
      }
      step_one();
      pair_.step(end);
    }
    EXPECT_EQ(account_.used(), memory) << "memory of the one";
    return arrived() - before;
  }

  // Its sends fail, in the end.
  bool run_until_sender_notices() {
    return pair_.run_until([&] {
      step_one();
      return failed > 0;
    });
  }
  AdapterPair& pair() { return pair_; }
  QpState state_at_receiver() { return pair_.a().qp(at_a_).state(); }
  QpState state_at_sender() { return pair_.b().qp(at_b_).state(); }
  bool has_overflowed() {
    return pair_.a().count(TransportCounter::kCqOverflow) > 0 ||
           pair_.b().count(TransportCounter::kCqOverflow) > 0;
  }
  std::uint64_t taken = 0;   // by the one
  std::uint64_t failed = 0;  // sends of the one

 private:
  Qpn make(End& end, CqId& cq) {
    cq = end.adapter->create_cq(kDepth, &account_).value();
    QpInit init;
    init.common.pd = end.pd;
    init.common.send_cq = init.common.recv_cq = cq;
    // Deeper than the completion queue that is not polled.
    init.common.receive_depth = consumer_ == Consumer::kNeverPolls ? 2 * kDepth : kDepth;
    init.common.send_depth = consumer_ == Consumer::kNeverPollsSends ? 2 * kDepth : kDepth;
    init.common.memory = &account_;
    return end.create_qp(init);
  }
  void connect_one() {
    at_a_ = make(pair_.a(), cq_a_);
    at_b_ = make(pair_.b(), cq_b_);
    Adapter& a = *pair_.a().adapter;
    Adapter& b = *pair_.b().adapter;
    const MgmtPair of_a = a.describe(at_a_, 0, 0), of_b = b.describe(at_b_, 0, 0);
    ASSERT_TRUE(a.connect_qp(of_a, of_b, *pair_.a().links.at(0)));
    ASSERT_TRUE(b.connect_qp(of_b, of_a, pair_.b().link()));
    if (consumer_ == Consumer::kTakesNothing) return;
    while (pair_.a().post_recv(at_a_, {to_.sge()})) {
    }
  }
  void step_one() {
    if (consumer_ == Consumer::kAbsent) return;
    // In the state ERR every one is taken, and fails.
    for (std::size_t i = 0; i < kDepth && pair_.b().post_send(at_b_, {from_.sge()}); ++i) {
    }
    std::array<Wc, kDepth> wcs;
    if (consumer_ != Consumer::kNeverPollsSends) {
      const std::size_t count = pair_.b().adapter->poll_cq(cq_b_, wcs);
      for (std::size_t i = 0; i < count; ++i) failed += wcs[i].status == WcStatus::kSuccess ? 0 : 1;
    }
    if (consumer_ == Consumer::kNeverPolls) return;
    if (consumer_ == Consumer::kSlow && round_ % 100 != 0) return;
    const std::size_t count = pair_.a().adapter->poll_cq(
        cq_a_, consumer_ == Consumer::kSlow ? std::span(wcs).first(1) : std::span(wcs));
    taken += count;
    for (std::size_t i = 0; i < count; ++i) {
      if (wcs[i].status == WcStatus::kSuccess)
        static_cast<void>(pair_.a().post_recv(at_a_, {to_.sge()}));
    }
  }

  const Consumer consumer_;
  base::MemoryAccount account_{std::uint64_t{64} << 20};
  AdapterPair pair_;
  Memory& to_ = pair_.a().memory(kBytes);
  Memory& from_ = pair_.b().memory(kBytes, 1);
  std::vector<std::unique_ptr<Stream>> streams_;
  Qpn at_a_, at_b_;
  CqId cq_a_, cq_b_;
  std::uint64_t round_ = 0;
};

class SlowConsumerTest : public ::testing::Test {
 protected:
  // 90 % of what they have next to one that sends nothing, and next to one whose consumer keeps up.
  static void expect_others_keep_their_rate(World& world) {
    static const std::uint64_t kAbsent = World(Consumer::kAbsent).run();
    static const std::uint64_t kQuick = World(Consumer::kQuick).run();
    EXPECT_GT(kQuick, 5000U);
    const std::uint64_t others = world.run();
    EXPECT_GE(others * 10, kAbsent * 9);
    EXPECT_GE(others * 10, kQuick * 9);
  }
};

TEST_F(SlowConsumerTest, R_63_one_that_keeps_up_takes_as_much_as_it_can) {
  World world(Consumer::kQuick);
  world.run();
  EXPECT_GT(world.taken, 500U);
  EXPECT_EQ(world.failed, 0U);
}

TEST_F(SlowConsumerTest, R_63_one_that_is_100_times_slower_makes_its_sender_wait) {
  World world(Consumer::kSlow);
  expect_others_keep_their_rate(world);
  EXPECT_GE(world.taken, 2U);
  EXPECT_LE(world.taken, 10U);
  EXPECT_GT(world.pair().a().count(TransportCounter::kTxRnr), 0U);
  EXPECT_EQ(world.failed, 0U);
  EXPECT_EQ(world.state_at_receiver(), QpState::kRts);
  EXPECT_EQ(world.state_at_sender(), QpState::kRts);
}

TEST_F(SlowConsumerTest, R_63_one_that_posts_no_receive_makes_its_sender_wait) {
  World world(Consumer::kTakesNothing);
  expect_others_keep_their_rate(world);
  EXPECT_EQ(world.taken, 0U);
  EXPECT_GT(world.pair().a().count(TransportCounter::kTxRnr), 0U);
  EXPECT_EQ(world.failed, 0U);
  EXPECT_EQ(world.state_at_sender(), QpState::kRts);
}

TEST_F(SlowConsumerTest, R_63_a_completion_queue_that_nobody_polls_ends_its_queue_pair) {
  World world(Consumer::kNeverPolls);
  expect_others_keep_their_rate(world);
  EXPECT_TRUE(world.has_overflowed());
  EXPECT_EQ(world.state_at_receiver(), QpState::kErr);
  EXPECT_TRUE(world.run_until_sender_notices());
}

TEST_F(SlowConsumerTest, R_63_completions_of_sends_that_nobody_polls_end_their_queue_pair) {
  World world(Consumer::kNeverPollsSends);
  expect_others_keep_their_rate(world);
  EXPECT_TRUE(world.has_overflowed());
  EXPECT_EQ(world.state_at_sender(), QpState::kErr);
  EXPECT_EQ(world.state_at_receiver(), QpState::kRts);
}

}  // namespace splitnic::fabric::testing::slow_consumer_test
