// The same traffic over different carriers: nothing above the underlay knows which one it is.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/stream.h"
#include "tests/support/udp_carrier.h"

namespace splitnic::fabric::testing::carrier_test {

using namespace std::chrono_literals;

enum class Kind { kInProcess, kInProcessJumbo, kUdp, kFull, kFullJumbo, kFullUdp };

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::kInProcess:
      return "in_process";
    case Kind::kInProcessJumbo:
      return "jumbo";
    case Kind::kUdp:
      return "udp";
    case Kind::kFull:
      return "full_profile";
    case Kind::kFullJumbo:
      return "full_profile_jumbo";
    case Kind::kFullUdp:
      return "full_profile_udp";
  }
  return "";
}

AdapterPair make_pair(Kind kind) {
  PairOptions options;
  const bool is_jumbo = kind == Kind::kInProcessJumbo || kind == Kind::kFullJumbo;
  const bool is_udp = kind == Kind::kUdp || kind == Kind::kFullUdp;
  if (is_jumbo) options.hub.datagram_bytes_max = 65'000;
  if (kind >= Kind::kFull) {
    options.profile = LinkProfile::kFull;
    options.mcp = is_jumbo ? 8192 : 1024;
  }
  if (is_udp) return AdapterPair(options, std::make_unique<UdpCarrier>(2));
  return AdapterPair(options);
}

class AnyCarrier : public ::testing::TestWithParam<Kind> {};

TEST_P(AnyCarrier, S000_39_streams_both_ways) {
  AdapterPair pair = make_pair(GetParam());
  const QpPair qp = pair.connect(QpInit{});
  stream_both_ways(pair, qp, {.packets = 1000, .bytes_max = 20'000});
}

TEST_P(AnyCarrier, S000_39_a_lossy_path) {
  AdapterPair pair = make_pair(GetParam());
  FaultConfig faults;
  faults.loss_ppm = faults.duplicate_ppm = faults.reorder_ppm = faults.corrupt_ppm = 10'000;
  pair.a().faults.set_config(faults);
  pair.b().faults.set_config(faults);
  const QpPair qp = pair.connect({.packet_crc = true});
  Stream stream(pair.b(), qp.b, pair.a(), qp.a, {.packets = 500, .bytes_max = 20'000});
  EXPECT_TRUE(pair.run_until([&] { return stream.step(); }));
  EXPECT_EQ(stream.failure, "");
}

TEST_P(AnyCarrier, S000_39_a_bulk_write_and_its_idata) {
  AdapterPair pair = make_pair(GetParam());
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(8 << 20);
  Memory& from = pair.b().memory(8 << 20, 5);
  ASSERT_TRUE(pair.a().post_recv(qp.a));
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 1, 42));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a().received.empty() && !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.a().received[0].idata, 42U);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST_P(AnyCarrier, S000_39_unacknowledged_and_connectionless) {
  AdapterPair pair = make_pair(GetParam());
  const QpPair uc = pair.connect({.service = Service::kUc});
  const Qpn ud_a = pair.make_ud(pair.a()), ud_b = pair.make_ud(pair.b());
  Memory& to = pair.a().memory(3000);
  Memory& from = pair.b().memory(3000, 5);
  ASSERT_TRUE(pair.a().post_recv(uc.a, {to.sge(0, 2000)}));
  ASSERT_TRUE(pair.a().post_recv(ud_a, {to.sge(2000, 1000)}));
  ASSERT_TRUE(pair.b().post_send(uc.b, {from.sge(0, 2000)}));
  const std::vector<Sge> gather{from.sge(2000, 1000)};
  SendWr wr;
  wr.gather = gather;
  wr.destination_lid = pair.b().link().remote_lid();
  wr.destination_qpn = ud_a;
  ASSERT_TRUE(pair.b().adapter->post_send(ud_b, wr));
  ASSERT_TRUE(pair.run_until([&] { return pair.a().received.size() == 2; }));
  EXPECT_EQ(to.bytes, from.bytes);
}

INSTANTIATE_TEST_SUITE_P(All, AnyCarrier,
                         ::testing::Values(Kind::kInProcess, Kind::kInProcessJumbo, Kind::kUdp,
                                           Kind::kFull, Kind::kFullJumbo, Kind::kFullUdp),
                         [](const auto& test) { return name_of(test.param); });

// A carrier that is full for a while, and one that throws away what does not fit.
TEST(CarrierTest, S000_15_a_carrier_that_blocks_or_drops) {
  for (const bool drops : {false, true}) {
    PairOptions options;
    options.hub.batch_queue_max = 3;
    options.hub.drops_when_full = drops;
    AdapterPair pair(options);
    const QpPair qp = pair.connect(QpInit{});
    SCOPED_TRACE(drops);
    stream_both_ways(pair, qp, {.packets = 300, .bytes_max = 60'000});
    EXPECT_LE(pair.idle_steps_with_past_deadline, 10) << drops;
  }
}

}  // namespace splitnic::fabric::testing::carrier_test
