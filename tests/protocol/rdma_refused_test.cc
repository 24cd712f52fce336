// A queue pair that takes no RDMA refuses reads and FetchOps as it refuses writes, whatever keys
// the peer has and however many responses it could keep.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::rdma_refused_test {

class RdmaRefusedTest : public ::testing::Test {
 protected:
  RdmaRefusedTest() {
    QpAttr attr;
    attr.max_dest_rd_atomic = 4;
    attr.max_rd_atomic = 4;
    qp_ = pair_.connect_by_hand({.accepts_rdma = false}, attr);
    before_ = there_.bytes;
  }
  // The request that end b posted is refused, and nothing crossed in either direction.
  void expect_refused() {
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kRemoteInvalid);
    EXPECT_TRUE(into_.is_zero()) << "nothing was disclosed";
    EXPECT_EQ(there_.bytes, before_) << "nothing was changed";
    EXPECT_EQ(pair_.a().qp(qp_.a).state(), QpState::kErr);
    EXPECT_EQ(pair_.b().qp(qp_.b).state(), QpState::kErr);
    EXPECT_EQ(pair_.a().count(TransportCounter::kTxNaks), 1U);
  }

  AdapterPair pair_;
  QpPair qp_;
  Memory& there_ = pair_.a().memory(4096, 3);
  Memory& into_ = pair_.b().memory(4096);
  std::vector<std::byte> before_;
};

TEST_F(RdmaRefusedTest, S000_01_a_read_is_refused) {
  ASSERT_TRUE(post_read(pair_.b(), qp_.b, {into_.sge(0, 100)}, there_));
  expect_refused();
}

TEST_F(RdmaRefusedTest, S000_01_every_fetch_op_is_refused) {
  const AtomicExt fetch{.op = FetchOp::kSwap, .operand1 = 1};
  ASSERT_TRUE(post_fetch(pair_.b(), qp_.b, into_, fetch, there_.start, there_.handle));
  expect_refused();
}

TEST_F(RdmaRefusedTest, S000_01_a_write_is_refused) {
  into_.fill(5);
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {into_.sge()}, there_.start, there_.handle));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
  into_.clear();
  expect_refused();
}

// The same requests pass where RDMA is taken: the refusals above are not those of something else.
TEST_F(RdmaRefusedTest, S000_01_another_queue_pair_of_the_adapter_takes_them) {
  const QpPair open = pair_.connect(reading(4));
  ASSERT_TRUE(post_read(pair_.b(), open.b, {into_.sge(0, 100)}, there_));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(into_.bytes.begin(), into_.bytes.begin() + 100, there_.bytes.begin()));
}

}  // namespace splitnic::fabric::testing::rdma_refused_test
