// Queue pairs over links in the full profile: the link retransmits what it loses.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/stream.h"

namespace splitnic::fabric::testing::full_profile_test {

using namespace std::chrono_literals;

PairOptions full(std::uint64_t seed = 1, std::uint16_t mcp = 0) {
  PairOptions options;
  options.seed = seed;
  options.mcp = mcp;
  options.profile = LinkProfile::kFull;
  return options;
}

// Streams both ways at once.
void run_streams(AdapterPair& pair, const QpPair& qp, unsigned packets) {
  stream_both_ways(pair, qp, {.packets = packets}, 120s);
  EXPECT_LE(pair.idle_steps_with_past_deadline, 10);
}

std::uint64_t sum(AdapterPair& pair, FullLinkCounter which) {
  return pair.a().port->full_counters()[which] + pair.b().port->full_counters()[which];
}
std::uint64_t sum(AdapterPair& pair, TransportCounter which) {
  return pair.a().count(which) + pair.b().count(which);
}

TEST(FullProfile, S000_43_agreed_in_init_with_256_bytes_per_cell) {
  AdapterPair pair(full());
  EXPECT_TRUE(pair.a().link().is_full_profile());
  EXPECT_EQ(pair.a().link().mcp(), 256);
  EXPECT_EQ(pair.a().link().lanes(), 4U);
  run_streams(pair, pair.connect(QpInit{}), 500);
  EXPECT_GT(sum(pair, FullLinkCounter::kTxFlit), 2 * sum(pair, TransportCounter::kTxCells));
  EXPECT_EQ(sum(pair, FullLinkCounter::kTxResend), 0U);
  EXPECT_EQ(sum(pair, TransportCounter::kTxRetransmit), 0U);
}

// 1 % of the datagrams are damaged, each way: the link retries, and no cell is retransmitted end to
// end.
TEST(FullProfile, S000_44_harmed_flits_are_repaired_below_the_transport) {
  for (const FaultConfig& faults :
       {FaultConfig{.corrupt_ppm = 10'000}, FaultConfig{.loss_ppm = 10'000},
        FaultConfig{.duplicate_ppm = 100'000}, FaultConfig{.truncate_ppm = 10'000}}) {
    AdapterPair pair(full());
    const QpPair qp = pair.connect(QpInit{});
    pair.a().faults.set_config(faults);
    pair.b().faults.set_config(faults);
    run_streams(pair, qp, 1000);
    if (faults.duplicate_ppm == 0) {
      EXPECT_GT(sum(pair, FullLinkCounter::kTxResend), 0U);
    } else {
      EXPECT_GT(sum(pair, FullLinkCounter::kRxRepeated), 0U);
    }
    EXPECT_EQ(sum(pair, TransportCounter::kTxRetransmit), 0U) << faults.corrupt_ppm;
    EXPECT_EQ(sum(pair, TransportCounter::kRxOutOfOrder), 0U);
    EXPECT_EQ(sum(pair, FullLinkCounter::kDead), 0U);
  }
}

TEST(FullProfile, L_27_losses_in_bursts_of_three_both_ways) {
  for (const std::uint32_t ppm : {1'000U, 20'000U, 50'000U, 200'000U}) {
    AdapterPair pair(full(ppm));
    const QpPair qp = pair.connect(QpInit{});
    FaultConfig faults;
    faults.loss_ppm = ppm / 3;
    faults.loss_burst = 3;
    faults.delay = 50us;
    pair.a().faults.set_config(faults);
    pair.b().faults.set_config(faults);
    run_streams(pair, qp, 300);
    EXPECT_EQ(sum(pair, TransportCounter::kQpErrors), 0U);
  }
}

// Everything at once, a round trip longer than the retry's default time-out, and other cell sizes.
TEST(FullProfile, S000_15_every_packet_arrives_once_in_order_on_a_bad_path) {
  for (const std::uint16_t mcp : std::to_array<std::uint16_t>({64, 256, 1024})) {
    AdapterPair pair(full(mcp, mcp));
    const QpPair qp = pair.connect({.packet_crc = true});
    FaultConfig faults;
    faults.loss_ppm = faults.corrupt_ppm = 10'000;
    faults.duplicate_ppm = faults.reorder_ppm = 30'000;
    faults.truncate_ppm = 2'000;
    faults.delay = 3ms;
    faults.jitter = 500us;
    pair.a().faults.set_config(faults);
    pair.b().faults.set_config(faults);
    run_streams(pair, qp, 200);
    EXPECT_EQ(sum(pair, TransportCounter::kQpErrors), 0U);
  }
}

// A link that went down comes back by a new INIT; the queue pairs never knew.
TEST(FullProfile, L_31_a_cut_of_a_second_fails_no_queue_pair) {
  AdapterPair pair(full());
  const QpPair qp = pair.connect(QpInit{});
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 2000});
  static_cast<void>(pair.run_until([&] { return stream.step() || stream.received() >= 500; }));
  pair.b().faults.set_cut(true);
  pair.run_for(1s);
  EXPECT_FALSE(pair.a().link().up());
  EXPECT_FALSE(pair.b().link().up());
  pair.b().faults.set_cut(false);
  EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
  EXPECT_EQ(stream.failure, "");
  EXPECT_EQ(sum(pair, TransportCounter::kQpErrors), 0U);
}

// An ACK with the largest bitmap of this profile is one flit, whatever the cell size.
TEST(FullProfile, S000_44_an_ack_with_gaps_is_one_flit) {
  AdapterPair pair(full(1, 1024));
  const QpPair qp = pair.connect(QpInit{});
  pair.b().tap.is_recording = true;
  FaultConfig faults;
  faults.loss_ppm = 200'000;
  pair.a().faults.set_config(faults);
  pair.b().faults.set_config(faults);
  run_streams(pair, qp, 300);
  std::size_t acks = 0;
  for (const TappedCell& flit : pair.b().tap.cells) {
    if (flit.bytes.size() < kMacHeaderBytes) continue;
    const MacHeader header = flit.header();
    if (header.op != Op::kAck || header.dqpn != qp.a || header.sqpn != qp.b) continue;
    ++acks;
    EXPECT_LE(flit.bytes.size(), kFlitPayloadMin);
  }
  EXPECT_GT(acks, 0U);
}

}  // namespace splitnic::fabric::testing::full_profile_test
