// Verbs with atomic operations: 7 cases.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::verbs_atomic_test {

class VerbsAtomic : public ::testing::Test {
 protected:
  WcStatus run(const AtomicExt& fetch, VirtualAddress at, MemoryHandle handle) {
    qp_ = pair_.connect(init_);
    pair_.b().sent.clear();
    EXPECT_TRUE(post_fetch(pair_.b(), qp_.b, old_, fetch, at, handle));
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    return pair_.b().sent[0].status;
  }
  // Refused with this status; neither side's memory has changed.
  void expect_refused(WcStatus status, VirtualAddress at, MemoryHandle handle) {
    const auto there = there_.bytes;
    const auto old = old_.bytes;
    EXPECT_EQ(run({FetchOp::kFetchAdd, 1, 0}, at, handle), status);
    EXPECT_EQ(there_.bytes, there);
    EXPECT_EQ(old_.bytes, old);
  }
  QpInit init_ = reading();
  AdapterPair pair_;
  QpPair qp_;
  Memory& there_ = pair_.a().memory(64, 4);
  Memory& old_ = pair_.b().memory(8, 5);
};

TEST_F(VerbsAtomic, at_01_compare_and_swap) {
  set_word(there_, 10);
  EXPECT_EQ(run({FetchOp::kCompareSwap, 10, 11}, there_.start, there_.handle), WcStatus::kSuccess);
  EXPECT_EQ(word_of(old_), 10U);
  EXPECT_EQ(word_of(there_), 11U);
}

TEST_F(VerbsAtomic, at_02_fetch_and_add) {
  set_word(there_, 10);
  EXPECT_EQ(run({FetchOp::kFetchAdd, 5, 0}, there_.start, there_.handle), WcStatus::kSuccess);
  EXPECT_EQ(word_of(old_), 10U);
  EXPECT_EQ(word_of(there_), 15U);
}

TEST_F(VerbsAtomic, at_03_invalid_qp_access) {
  init_.common.max_dest_rd_atomic = 0;  // this queue pair takes none
  qp_ = pair_.connect(init_);
  SendWr wr;
  wr.op = WrOp::kFetchOp;
  const Sge piece = old_.sge();
  wr.gather = {&piece, 1};
  wr.remote_address = there_.start;
  wr.remote_handle = there_.handle;
  wr.fetch_op = {FetchOp::kFetchAdd, 1, 0};
  const auto before = there_.bytes;
  EXPECT_FALSE(pair_.b().adapter->post_send(qp_.b, wr));
  pair_.run_for(std::chrono::milliseconds(10));
  EXPECT_EQ(there_.bytes, before);
}

TEST_F(VerbsAtomic, at_04_invalid_mr_access) {
  const MemoryHandle closed = pair_.a().memory(64, 6, kLocalRead | kLocalWrite).handle;
  expect_refused(WcStatus::kRemoteAccess, pair_.a().adapter->memory().start_of(closed), closed);
}

TEST_F(VerbsAtomic, at_05_non_aligned_addr) {
  for (const std::uint64_t off : {1U, 4U, 7U}) {
    expect_refused(WcStatus::kRemoteInvalid, VirtualAddress(there_.start.value + off),
                   there_.handle);
  }
}

TEST_F(VerbsAtomic, at_06_invalid_lkey) {
  qp_ = pair_.connect(init_);
  SendWr wr;
  wr.op = WrOp::kFetchOp;
  const Sge piece{old_.start, 8, MemoryHandle(old_.handle.value + 1)};
  wr.gather = {&piece, 1};
  wr.remote_address = there_.start;
  wr.remote_handle = there_.handle;
  wr.fetch_op = {FetchOp::kFetchAdd, 1, 0};
  const auto before = there_.bytes;
  ASSERT_TRUE(pair_.b().adapter->post_send(qp_.b, wr));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(there_.bytes, before) << "nothing was asked of the peer";
}

TEST_F(VerbsAtomic, at_07_invalid_rkey) {
  expect_refused(WcStatus::kRemoteAccess, there_.start, MemoryHandle(there_.handle.value + 1));
}

}  // namespace splitnic::fabric::testing::verbs_atomic_test
