// Cells without a CRC over their payload, above the link: all of it arrives, a flipped bit of a
// payload is not noticed, and a restarted end may have another mode.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/lossy_write.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::payload_crc_test {

using namespace std::chrono_literals;

PairOptions options_of(PayloadCrcMode mode) {
  PairOptions options;
  options.payload_crc = mode;
  return options;
}

// Writes 100 kB over a path that flips a bit of every tenth datagram.
struct FlippedBit {
  explicit FlippedBit(PayloadCrcMode mode) : pair(options_of(mode)) {
    const QpPair qp = pair.connect(QpInit{});
    Memory& from = pair.b().memory(100'000, 3);
    Memory& to = pair.a().memory(100'000);
    FaultConfig faults;
    faults.corrupt_ppm = 100'000;
    pair.a().faults.set_config(faults);
    EXPECT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
    EXPECT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    EXPECT_GT(pair.a().faults.counts().corrupted, 0U);
    is_equal = to.bytes == from.bytes;
    drops = pair.a().count(TransportCounter::kCellDropCrc);
  }
  AdapterPair pair;
  bool is_equal = false;
  std::uint64_t drops = 0;
};

TEST(PayloadCrcTest, S001_36_with_it_a_flipped_bit_costs_its_cell) {
  const FlippedBit on(PayloadCrcMode::kOn);
  EXPECT_TRUE(on.is_equal);
  EXPECT_GT(on.drops, 0U);
}

// The reason why it is never left out on a wire by default.
TEST(PayloadCrcTest, without_it_a_flipped_bit_of_a_payload_arrives) {
  const FlippedBit off(PayloadCrcMode::kOff);
  EXPECT_FALSE(off.is_equal);
}

TEST(PayloadCrcTest, S001_35_everything_arrives_without_it) {
  AdapterPair pair(options_of(PayloadCrcMode::kAuto));
  ASSERT_EQ(pair.b().link().payload_crc(), PayloadCrcState::kOffSameMachine);
  expect_write_through_loss(pair);
  EXPECT_GT(pair.a().count(TransportCounter::kRxPredicted), 0U);
}

// A new connection, and packets over it.
void expect_stream(AdapterPair& pair, PayloadCrcState state) {
  const QpPair qp = pair.connect(QpInit{});
  EXPECT_EQ(pair.a().links.back()->payload_crc(), state);
  EXPECT_EQ(pair.b().link().payload_crc(), state);
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 50});
  EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
  EXPECT_EQ(stream.failure, "");
}

TEST(PayloadCrcTest, F_48_a_restarted_end_may_have_another_mode) {
  AdapterPair pair(options_of(PayloadCrcMode::kAuto));
  expect_stream(pair, PayloadCrcState::kOffSameMachine);
  pair.in_process().endpoint(0).clear();
  pair.a().payload_crc = PayloadCrcMode::kOn;
  pair.a().start();
  ASSERT_TRUE(pair.run_until([&] { return pair.b().disconnects == 1 && pair.b().link().up(); }));
  expect_stream(pair, PayloadCrcState::kOn);
  pair.in_process().endpoint(0).clear();
  pair.a().payload_crc = PayloadCrcMode::kOff;
  pair.a().start();
  ASSERT_TRUE(pair.run_until([&] { return pair.b().disconnects == 2 && pair.b().link().up(); }));
  expect_stream(pair, PayloadCrcState::kOffSameMachine);
}

TEST(PayloadCrcTest, S001_35_the_shm_profile_carries_everything) {
  PairOptions options;
  options.crc_head_only = true;
  AdapterPair pair(options);
  expect_write_through_loss(pair);
}

}  // namespace splitnic::fabric::testing::payload_crc_test
