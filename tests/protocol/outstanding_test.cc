// The limit of outstanding packets is chosen when a queue pair is created, and no later change of
// state alters it.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::outstanding_test {

constexpr std::uint32_t kMost = 4;

// The most packets of one cell that were on their way at a time, of 100 RDMA writes.
int most_outstanding(AdapterPair& pair, const QpPair& qp) {
  Memory& to = pair.a().memory(100);
  Memory& from = pair.b().memory(100, 2);
  pair.b().tap.cells.clear();
  pair.b().tap.is_recording = true;
  pair.b().sent.clear();
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, i));
  }
  EXPECT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 100; }));
  int most = 0, open = 0;
  Lcn acked;
  bool is_first = true;
  for (const auto& cell : pair.b().tap.cells) {
    const MacHeader header = cell.header();
    AckExt ack;
    if (cell.sent && header.op == Op::kRdmaWrite) {
      if (is_first) acked = header.lcn - 1U;
      is_first = false;
      open = header.lcn - acked;
    } else if (!cell.sent && parse_ack(cell.view(), ack)) {
      open -= ack.cumulative - acked;
      acked = ack.cumulative;
    }
    most = std::max(most, open);
  }
  return most;
}

TEST(OutstandingTest, S000_16_the_number_outlives_every_change_of_state) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.max_outstanding = kMost});
  EXPECT_EQ(most_outstanding(pair, qp), static_cast<int>(kMost));
  QpAttr more = pair.b().qp(qp.b).attr();
  more.max_outstanding = 50;
  const auto change = [&](QpState from, QpState to) {
    const AttrMask all =
        required_attributes(Service::kRc, from, to) | optional_attributes(Service::kRc, from, to);
    ASSERT_TRUE(pair.b().adapter->modify_qp(qp.b, to, all, more)) << name(from) << name(to);
    EXPECT_EQ(pair.b().qp(qp.b).attr().max_outstanding, kMost) << name(from) << name(to);
  };
  change(QpState::kRts, QpState::kRts);
  change(QpState::kRts, QpState::kSqd);
  pair.run_for(std::chrono::milliseconds(1));
  change(QpState::kSqd, QpState::kSqd);
  change(QpState::kSqd, QpState::kRts);
  EXPECT_EQ(most_outstanding(pair, qp), static_cast<int>(kMost));
}

TEST(OutstandingTest, S000_16_the_number_has_a_default_and_a_bound) {
  AdapterPair pair;
  const Qpn plain = pair.a().create_qp({.common = {.send_depth = 33}});
  EXPECT_EQ(pair.a().qp(plain).attr().max_outstanding, 33U);
  QpInit init;
  init.common.pd = pair.a().pd;
  init.common.send_cq = pair.a().send_cq;
  init.common.recv_cq = pair.a().recv_cq;
  init.max_outstanding = kPsnWindowMax;
  EXPECT_TRUE(pair.a().adapter->create_qp(init, pair.now()));
  init.max_outstanding = kPsnWindowMax + 1;
  EXPECT_FALSE(pair.a().adapter->create_qp(init, pair.now()));
}

}  // namespace splitnic::fabric::testing::outstanding_test
