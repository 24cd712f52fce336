// A queue pair that its owner has reset: nothing of its former connection has an effect on it.
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::reset_test {

using namespace std::chrono_literals;

// From RESET to RTS with the attributes that it had, but for the cell size.
void connect_once_more(End& end, Qpn qpn, std::uint16_t mcp) {
  QpAttr attr = end.qp(qpn).attr();
  attr.mcp = mcp;
  for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    const QpState at = end.qp(qpn).state();
    const AttrMask given =
        required_attributes(Service::kRc, at, to) | optional_attributes(Service::kRc, at, to);
    ASSERT_TRUE(end.adapter->modify_qp(qpn, to, given, attr));
  }
}

TEST(ResetTest, X_46_another_instance_of_the_former_peer_does_not_end_it) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  ASSERT_TRUE(pair.a().adapter->modify_qp(qp.a, QpState::kReset, 0, {}));
  pair.in_process().endpoint(1).clear();
  pair.b().start();
  ASSERT_TRUE(pair.run_until([&] { return pair.a().disconnects == 1; }));
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kReset);
  EXPECT_TRUE(pair.a().adapter->prepare_qp(qp.a));
}

// A write of ten cells, of which the first is lost: those behind it are kept, whatever their size.
// No two of them fit into one datagram.
TEST(ResetTest, X_40_early_cells_are_kept_that_are_longer_than_those_before) {
  AdapterPair pair;
  const std::uint16_t longer = pair.b().link().mcp();
  const auto shorter = static_cast<std::uint16_t>(longer * 3 / 5 & ~3);
  const QpPair qp = pair.connect({.common = {.mcp = shorter, .fixed_rto = 10s}});
  for (const std::uint16_t mcp : {shorter, longer}) {
    if (mcp == longer) {
      for (const auto& [end, qpn] : {std::pair{&pair.a(), qp.a}, std::pair{&pair.b(), qp.b}}) {
        ASSERT_TRUE(end->adapter->modify_qp(qpn, QpState::kReset, 0, {}));
      }
      connect_once_more(pair.a(), qp.a, mcp);
      connect_once_more(pair.b(), qp.b, mcp);
    }
    Memory& to = pair.a().memory(std::size_t{mcp} * 10);
    Memory& from = pair.b().memory(std::size_t{mcp} * 10, 3);
    bool is_lost = false;
    pair.a().faults.drop_received([&](base::Bytes datagram) {
      if (datagram.size() < kFlitHeaderBytes + kCellBytesMin) return false;
      const MacHeader h = MacHeader::parse(datagram.data() + kFlitHeaderBytes);
      return h.op == Op::kRdmaWrite && h.csn == 0 && !std::exchange(is_lost, true);
    });
    const std::uint64_t kept = pair.a().count(TransportCounter::kRxCopied);
    pair.b().sent.clear();
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 1s)) << mcp;
    EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.a().count(TransportCounter::kRxCopied), kept + 9) << mcp;
    EXPECT_EQ(to.bytes, from.bytes);
    pair.a().faults.drop_received({});
  }
}

}  // namespace splitnic::fabric::testing::reset_test
