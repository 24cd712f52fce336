#include "tests/support/fault_underlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/unit/fabric_emul/link/link_world.h"

namespace splitnic::fabric::fault_underlay_test {

using namespace link_world;

constexpr std::size_t kStride = 100;

struct Faults {
  explicit Faults(const FaultConfig& config = {}, std::uint64_t seed = 1)
      : random(seed),
        from(hub.add_endpoint()),
        to(hub.add_endpoint()),
        faults(to, random, clock, config) {}

  // Datagrams numbered from 0, `per_batch` a batch; what came out at once, by number.
  void send(unsigned datagrams, unsigned per_batch = 10) {
    std::vector<std::byte> batch;
    for (unsigned i = 0; i < datagrams; ++i) {
      std::vector<std::byte> datagram(kStride, std::byte{0x55});
      base::store_be(datagram.data(), next++);
      batch.insert(batch.end(), datagram.begin(), datagram.end());
      if (batch.size() == per_batch * kStride || i + 1 == datagrams) {
        EXPECT_EQ(from.send(to.address(), batch, kStride), Underlay::SendStatus::kSent);
        batch.clear();
        receive();
      }
    }
  }
  void receive() {
    while (const auto batch = faults.receive()) {
      for (std::size_t at = 0; at < batch->bytes.size(); at += batch->stride) {
        const auto datagram =
            batch->bytes.subspan(at, std::min(batch->stride, batch->bytes.size() - at));
        got.emplace_back(datagram.begin(), datagram.end());
        if (datagram.size() >= 4) {
          numbers.push_back(base::load_be<std::uint32_t>(datagram.data()));
        }
      }
      batch_bytes.push_back(batch->bytes.size());
    }
  }

  base::ManualClock clock;
  base::SeededRandom random;
  InProcessHub hub;
  InProcessUnderlay& from;
  InProcessUnderlay& to;
  FaultUnderlay faults;
  std::uint32_t next = 0;
  std::vector<std::vector<std::byte>> got;
  std::vector<std::uint32_t> numbers;
  std::vector<std::size_t> batch_bytes;
};

TEST(FaultUnderlayTest, without_faults_batches_pass_untouched) {
  Faults f;
  f.send(100);
  EXPECT_EQ(f.numbers.size(), 100U);
  EXPECT_THAT(f.batch_bytes, ::testing::Each(10 * kStride));
  EXPECT_EQ(f.faults.deadline(), base::kNever);
}

// A changed one is never the same by chance: 100 bytes of 0x55 behind a number.
TEST(FaultUnderlayTest, garbles_datagrams_in_each_way) {
  Faults f({.garble_ppm = 1'000'000});
  f.send(6000);
  EXPECT_EQ(f.faults.counts().garbled, 6000U);
  std::size_t shorter = 0, longer = 0, same_header = 0, same_tail = 0;
  for (const auto& one : f.got) {
    shorter += one.size() < kStride ? 1 : 0;
    longer += one.size() > kStride ? 1 : 0;
    if (one.size() != kStride) continue;
    const auto is_filler = [](std::byte b) { return b == std::byte{0x55}; };
    same_header += std::all_of(one.begin() + 4, one.begin() + 48, is_filler) ? 1 : 0;
    same_tail += std::all_of(one.begin() + 48, one.end(), is_filler) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(shorter), 1000, 150);
  EXPECT_NEAR(static_cast<double>(longer), 1000, 150);
  EXPECT_GT(same_tail, 1000U + 500) << "all of those whose header changed, and some more";
  EXPECT_GT(same_header, 500U) << "bits behind it";
  EXPECT_LT(same_header + same_tail, 4000U) << "and those of which all has changed";
}

TEST(FaultUnderlayTest, loses_single_datagrams_of_a_batch) {
  Faults f({.loss_ppm = 100'000});
  f.send(10'000);
  EXPECT_NEAR(static_cast<double>(f.numbers.size()), 9000, 150);
  EXPECT_EQ(f.faults.counts().seen, 10'000U);
  EXPECT_EQ(f.faults.counts().lost, 10'000U - f.numbers.size());
  // The rest of a batch stays one batch.
  EXPECT_LE(f.batch_bytes.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(f.numbers.begin(), f.numbers.end()));
}

TEST(FaultUnderlayTest, a_batch_that_loses_nothing_is_not_copied) {
  InProcessHub hub;
  InProcessUnderlay& from = hub.add_endpoint();
  InProcessUnderlay& to = hub.add_endpoint();
  struct Recorder final : UnderlayDecorator {
    using UnderlayDecorator::UnderlayDecorator;
    SendStatus send(const PeerAddress& peer, base::Bytes bytes, std::size_t stride) override {
      return below_.send(peer, bytes, stride);
    }
    std::optional<Received> receive() override { return last = below_.receive(); }
    base::Time deadline() const override { return base::kNever; }
    std::optional<Received> last;
  } recorder(to);
  base::ManualClock clock;
  base::SeededRandom random(1);
  FaultUnderlay faults(recorder, random, clock, {.loss_ppm = 10'000});
  const std::vector<std::byte> batch(10 * kStride, std::byte{0x55});
  unsigned whole = 0;
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_EQ(from.send(to.address(), batch, kStride), Underlay::SendStatus::kSent);
    const auto got = faults.receive();
    ASSERT_TRUE(got);
    const bool same = got->bytes.data() == recorder.last->bytes.data();
    EXPECT_EQ(same, got->bytes.size() == batch.size());
    whole += same ? 1 : 0;
  }
  EXPECT_GT(whole, 80U);
  EXPECT_LT(whole, 100U);
}

TEST(FaultUnderlayTest, the_same_seed_loses_the_same) {
  Faults one({.loss_ppm = 50'000, .duplicate_ppm = 20'000, .corrupt_ppm = 10'000}, 7);
  Faults two({.loss_ppm = 50'000, .duplicate_ppm = 20'000, .corrupt_ppm = 10'000}, 7);
  Faults other({.loss_ppm = 50'000, .duplicate_ppm = 20'000, .corrupt_ppm = 10'000}, 8);
  for (Faults* f : {&one, &two, &other}) f->send(1000);
  EXPECT_EQ(one.got, two.got);
  EXPECT_NE(one.got, other.got);
}

TEST(FaultUnderlayTest, loses_bursts) {
  Faults f({.loss_ppm = 10'000, .loss_burst = 5});
  f.send(10'000);
  const std::set<std::uint32_t> got(f.numbers.begin(), f.numbers.end());
  std::size_t run = 0;
  for (std::uint32_t i = 0; i < 9990; ++i) {
    if (got.count(i) == 0) {
      ++run;
    } else {
      EXPECT_EQ(run % 5, 0U);
      run = 0;
    }
  }
  EXPECT_GT(f.faults.counts().lost, 200U);
}

TEST(FaultUnderlayTest, duplicates) {
  Faults f({.duplicate_ppm = 200'000});
  f.send(1000);
  EXPECT_EQ(f.numbers.size(), 1000 + f.faults.counts().duplicated);
  EXPECT_NEAR(static_cast<double>(f.faults.counts().duplicated), 200, 40);
  const std::set<std::uint32_t> distinct(f.numbers.begin(), f.numbers.end());
  EXPECT_EQ(distinct.size(), 1000U);
}

TEST(FaultUnderlayTest, reorders_by_the_clock) {
  Faults f({.reorder_ppm = 100'000, .reorder_delay = 1ms});
  f.send(1000);
  const std::size_t at_once = f.numbers.size();
  EXPECT_EQ(at_once, 1000 - f.faults.counts().reordered);
  EXPECT_LT(at_once, 1000U);
  EXPECT_EQ(f.faults.deadline(), f.clock.now() + 1ms);
  f.clock.advance(999us);
  f.receive();
  EXPECT_EQ(f.numbers.size(), at_once);
  f.clock.advance(1us);
  f.receive();
  EXPECT_EQ(f.numbers.size(), 1000U);
  EXPECT_FALSE(std::is_sorted(f.numbers.begin(), f.numbers.end()));
  EXPECT_EQ(f.faults.deadline(), base::kNever);
}

TEST(FaultUnderlayTest, delays_whole_batches) {
  Faults f({.delay = 2ms});
  f.send(20);
  EXPECT_TRUE(f.numbers.empty());
  f.clock.advance(2ms);
  f.receive();
  EXPECT_THAT(f.batch_bytes, ::testing::ElementsAre(10 * kStride, 10 * kStride));
  EXPECT_TRUE(std::is_sorted(f.numbers.begin(), f.numbers.end()));
}

TEST(FaultUnderlayTest, flips_one_bit_or_cuts_the_end) {
  Faults f({.corrupt_ppm = 1'000'000});
  f.send(100);
  ASSERT_EQ(f.got.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    std::vector<std::byte> sent(kStride, std::byte{0x55});
    base::store_be(sent.data(), i);
    int bits = 0;
    for (std::size_t at = 0; at < kStride; ++at) {
      bits += std::popcount(std::to_integer<unsigned>(sent[at] ^ f.got[i][at]));
    }
    EXPECT_EQ(bits, 1);
  }
  Faults t({.truncate_ppm = 1'000'000});
  t.send(100);
  EXPECT_GT(t.got.size(), 90U);
  for (const auto& datagram : t.got) EXPECT_LT(datagram.size(), kStride);
}

TEST(FaultUnderlayTest, predicates_drop_what_a_test_names) {
  Faults f;
  f.faults.drop_received([](base::Bytes d) { return base::load_be<std::uint32_t>(d.data()) == 3; });
  f.send(10);
  EXPECT_THAT(f.numbers, ::testing::ElementsAre(0, 1, 2, 4, 5, 6, 7, 8, 9));
  f.faults.drop_sent([](base::Bytes d) { return d[0] == std::byte{1}; });
  std::vector<std::byte> batch(250, std::byte{0});
  batch[100] = std::byte{1};
  EXPECT_EQ(f.faults.send(f.from.address(), batch, 100), Underlay::SendStatus::kSent);
  const auto left = f.from.receive();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->bytes.size(), 150U);
}

TEST(FaultUnderlayTest, a_cut_passes_nothing_and_forgets_what_was_held) {
  Faults f({.delay = 2ms});
  f.send(10);
  f.faults.set_cut(true);
  f.clock.advance(2ms);
  f.receive();
  EXPECT_TRUE(f.numbers.empty());
  f.send(10);
  const auto datagram = pattern(50, 1);
  EXPECT_EQ(f.faults.send(f.from.address(), datagram, 50), Underlay::SendStatus::kSent);
  EXPECT_FALSE(f.from.receive().has_value());
  f.faults.set_cut(false);
  f.send(1);
  f.clock.advance(2ms);
  f.receive();
  EXPECT_THAT(f.numbers, ::testing::ElementsAre(20));
}

// Whatever the path does: a link delivers only cells that were sent, and stays alive.
TEST(FaultUnderlayTest, a_link_under_all_faults_delivers_only_what_was_sent) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World w;
    w.random = base::SeededRandom(seed);
    w.connect();
    w.listener_faults.set_config({.loss_ppm = 50'000,
                                  .duplicate_ppm = 20'000,
                                  .reorder_ppm = 20'000,
                                  .jitter = 1ms,
                                  .truncate_ppm = 20'000});
    for (unsigned i = 0; i < 500; ++i) {
      ASSERT_TRUE(write(w.b->link(), pattern(40 + i % 1000, i)));
      if (i % 20 == 0) w.run(2ms, 1ms);
    }
    w.run(20ms, 1ms);
    EXPECT_GT(w.a->cells.size(), 300U);
    for (const auto& cell : w.a->cells) {
      const unsigned seed_of = std::to_integer<unsigned>(cell[0]);
      EXPECT_EQ(cell, pattern(cell.size(), seed_of));
    }
    EXPECT_TRUE(w.a->link().up());
    EXPECT_TRUE(w.b->link().up());
  }
}

TEST(FaultUnderlayTest, a_link_comes_up_through_heavy_loss) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World w;
    w.random = base::SeededRandom(seed);
    w.listener_faults.set_config({.loss_ppm = 300'000});
    w.client_faults.set_config({.loss_ppm = 300'000});
    w.connect();
    w.run(30s, 50ms);
    ASSERT_NE(w.b->watch.link, nullptr) << seed;
    EXPECT_EQ(w.a->count(LinkCounter::kPeerRestart), 0U);
  }
}

}  // namespace splitnic::fabric::fault_underlay_test
