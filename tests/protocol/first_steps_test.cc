// The shortest way through everything: a connection, an RDMA write with idata, Sends both ways.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::first_steps_test {

TEST(FirstStepsTest, S000_15_X_38_rdma_write_with_idata_arrives) {
  AdapterPair pair;
  pair.a().prepare = [](End& end, Qpn qpn) { ASSERT_TRUE(end.post_recv(qpn, {}, 5)); };
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(65536);
  Memory& from = pair.b().memory(65536, 3);

  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 77, 0x07050100));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty() && !pair.a().received.empty(); }));

  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.b().sent[0].wr_id, 77U);
  const Wc& wc = pair.a().received[0];
  EXPECT_EQ(wc.wr_id, 5U);
  EXPECT_TRUE(wc.has_idata);
  EXPECT_EQ(wc.idata, 0x07050100U);
  EXPECT_EQ(wc.bytes, 65536U);
  EXPECT_EQ(wc.address, to.start);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(FirstStepsTest, S001_31_sends_go_both_ways_at_once) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& at_a = pair.a().memory(40000, 1);
  Memory& at_b = pair.b().memory(40000, 2);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {at_a.sge(20000)}));
  ASSERT_TRUE(pair.b().post_recv(qp.b, {at_b.sge(20000)}));
  ASSERT_TRUE(pair.a().post_send(qp.a, {at_a.sge(0, 20000)}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {at_b.sge(0, 20000)}));
  ASSERT_TRUE(
      pair.run_until([&] { return !pair.b().received.empty() && !pair.a().received.empty(); }));
  EXPECT_TRUE(std::equal(at_a.bytes.begin() + 20000, at_a.bytes.end(), at_b.bytes.begin()));
  EXPECT_TRUE(std::equal(at_b.bytes.begin() + 20000, at_b.bytes.end(), at_a.bytes.begin()));
}

}  // namespace splitnic::fabric::testing::first_steps_test
