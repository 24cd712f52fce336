// A queue pair that its owner has reset: nothing of its former connection has an effect on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::reset_test {

using namespace std::chrono_literals;

void reset(AdapterPair& pair, const QpPair& qp) {
  ASSERT_TRUE(pair.a().adapter->modify_qp(qp.a, QpState::kReset, 0, {}));
  ASSERT_TRUE(pair.b().adapter->modify_qp(qp.b, QpState::kReset, 0, {}));
}

// From RESET to RTS with the attributes that it had, but for the cell size and the start numbers of
// the peer.
void connect_once_more(End& end, Qpn qpn, const QpAttr& peer, std::uint16_t mcp) {
  QpAttr attr = end.qp(qpn).attr();
  attr.mcp = mcp;
  attr.receive_psn = peer.send_psn;
  attr.receive_lcn = peer.send_lcn;
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
      ASSERT_NO_FATAL_FAILURE(reset(pair, qp));
      connect_once_more(pair.a(), qp.a, pair.b().qp(qp.b).attr(), mcp);
      connect_once_more(pair.b(), qp.b, pair.a().qp(qp.a).attr(), mcp);
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

// A write of the first connection comes once more, late, after the same two queue pairs have made
// the next one.
TEST(ResetTest, X_46_a_late_cell_of_the_connection_before_is_not_taken) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(100);
  Memory& first = pair.b().memory(100, 3);
  Memory& second = pair.b().memory(100, 5);
  std::vector<std::byte> late;
  pair.a().faults.drop_received([&](base::Bytes datagram) {
    if (datagram.size() < kFlitHeaderBytes + kCellBytesMin) return false;
    const MacHeader h = MacHeader::parse(datagram.data() + kFlitHeaderBytes);
    if (h.op == Op::kRdmaWrite) late.assign(datagram.begin(), datagram.end());
    return false;
  });
  ASSERT_TRUE(pair.b().post_write(qp.b, {first.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 1s));
  ASSERT_EQ(to.bytes, first.bytes);
  pair.a().faults.drop_received({});
  ASSERT_FALSE(late.empty());

  ASSERT_NO_FATAL_FAILURE(reset(pair, qp));
  const MgmtPair a = pair.a().adapter->describe(qp.a, 0, 0);
  const MgmtPair b = pair.b().adapter->describe(qp.b, 0, 0);
  ASSERT_TRUE(pair.a().adapter->connect_qp(a, b, pair.a().link()));
  ASSERT_TRUE(pair.b().adapter->connect_qp(b, a, pair.b().link()));
  std::ranges::fill(to.bytes, std::byte{0});
  pair.in_process().endpoint(1).send(pair.address(0), late, late.size());
  pair.run_for(10ms);
  EXPECT_EQ(to.bytes, std::vector<std::byte>(100));
  pair.b().sent.clear();
  ASSERT_TRUE(pair.b().post_write(qp.b, {second.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }, 1s));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, second.bytes);
}

// Start numbers that the owner gives by hand are in force, whatever RESET has drawn.
TEST(ResetTest, T_14_start_numbers_that_are_given_by_hand_stay) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  ASSERT_NO_FATAL_FAILURE(reset(pair, qp));
  const QpAttr peer = pair.b().qp(qp.b).attr();
  for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    const QpState at = pair.a().qp(qp.a).state();
    QpAttr attr = pair.a().qp(qp.a).attr();
    attr.receive_psn = peer.send_psn;
    attr.receive_lcn = peer.send_lcn;
    attr.send_psn = Psn(0x300);
    attr.send_lcn = Lcn(0x400);
    ASSERT_TRUE(
        pair.a().adapter->modify_qp(qp.a, to, required_attributes(Service::kRc, at, to), attr));
  }
  EXPECT_EQ(pair.a().qp(qp.a).attr().send_psn, Psn(0x300));
  EXPECT_EQ(pair.a().qp(qp.a).attr().send_lcn, Lcn(0x400));
}

}  // namespace splitnic::fabric::testing::reset_test
