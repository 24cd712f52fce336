// Transfers between two VIs, on every reliability level that has them.
#include "fabric_emul/via/vi.h"

#include <gtest/gtest.h>

#include "fabric_emul/wire/flit.h"
#include "tests/support/vi_harness.h"

namespace splitnic::fabric::testing::vi_test {

constexpr auto kLevels = std::to_array(
    {ViReliability::kUnreliable, ViReliability::kDelivery, ViReliability::kReception});

bool same(const ViSide& x, std::size_t at_x, const ViSide& y, std::size_t at_y, std::size_t bytes) {
  return std::memcmp(x.region.bytes.data() + at_x, y.region.bytes.data() + at_y, bytes) == 0;
}

class ViTransfer : public ::testing::TestWithParam<ViReliability> {
 protected:
  // A transfer of this side has entered no kernel agent, and no cell has waited in a reorder
  // buffer.
  void expect_no_entries() {
    EXPECT_EQ(a_.end.count(TransportCounter::kRxCopied), 0U);
    EXPECT_EQ(b_.end.count(TransportCounter::kRxCopied), 0U);
    EXPECT_EQ(harness_.a.agent.entries(), entries_a_);
    EXPECT_EQ(harness_.b.agent.entries(), entries_b_);
  }
  ViHarness harness_{GetParam()};
  ViSide& a_ = harness_.a;
  ViSide& b_ = harness_.b;
  const std::uint64_t entries_a_ = a_.agent.entries();
  const std::uint64_t entries_b_ = b_.agent.entries();
};
INSTANTIATE_TEST_SUITE_P(Levels, ViTransfer, ::testing::ValuesIn(kLevels));

class ReliableViTransfer : public ViTransfer {};
INSTANTIATE_TEST_SUITE_P(Levels, ReliableViTransfer,
                         ::testing::Values(ViReliability::kDelivery, ViReliability::kReception));

// Whether the datagram holds the last cell of a Send.
bool ends_a_send(base::Bytes datagram) {
  FlitWalker walker(datagram);
  FlitView flit;
  while (walker.next(flit) == FlitWalker::Step::kFlit) {
    if (flit.header.type != FlitType::kData) continue;
    const MacHeader header = MacHeader::parse(flit.payload.data());
    if (header.op == Op::kSend && is_last(header.pos)) return true;
  }
  return false;
}

TEST_P(ViTransfer, S001_44_send_and_receive_gather_and_scatter_S001_43_enters_no_kernel_agent) {
  const auto receive = a_.receive({a_.data(0, 1000), a_.data(5000, 9000)});
  const auto send = b_.send(send_of({b_.data(100, 3000), b_.data(40000, 2000)}));
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 2; }));
  EXPECT_EQ(b_.status(send), kViDone | kViOpSend);
  EXPECT_EQ(a_.status(receive), kViDone | kViOpReceive);
  EXPECT_EQ(a_.word(receive, kViLengthAt), 5000U);
  EXPECT_TRUE(same(a_, 0, b_, 100, 1000));
  EXPECT_TRUE(same(a_, 5000, b_, 1100, 2000));
  EXPECT_TRUE(same(a_, 7000, b_, 40000, 2000));
  expect_no_entries();
}

TEST_P(ViTransfer, S001_44_a_send_carries_idata_and_may_be_empty) {
  const auto receive = a_.receive({});
  const auto send = b_.send(send_of({}, 0xCAFE0001));
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 2; }));
  EXPECT_EQ(b_.status(send), kViDone | kViOpSend);
  EXPECT_EQ(a_.status(receive), kViDone | kViOpReceive | kViHasIdata);
  EXPECT_EQ(a_.word(receive, kViIdataAt), 0xCAFE0001U);
  EXPECT_EQ(a_.word(receive, kViLengthAt), 0U);
}

TEST_P(ViTransfer, S001_44_cells_are_in_their_place_before_the_last_one_has_come) {
  constexpr std::size_t kBytes = 60'000;
  a_.end.faults.drop_received(ends_a_send);
  a_.receive({a_.data(0, kBytes)});
  b_.send(send_of({b_.data(0, kBytes)}));
  harness_.pair.run_for(std::chrono::milliseconds(2));
  a_.take();
  EXPECT_TRUE(a_.done.empty()) << "it is not complete";
  EXPECT_TRUE(same(a_, 0, b_, 0, kBytes * 9 / 10));
  EXPECT_FALSE(same(a_, 0, b_, 0, kBytes));
  expect_no_entries();
}

// The counter that is 0 elsewhere does move: a cell behind a gap waits for it. The unreliable level
// drops what comes early.
TEST_P(ReliableViTransfer, S001_44_only_what_comes_early_is_copied) {
  b_.end.faults.set_config({.loss_ppm = 200'000});
  a_.end.faults.set_config({.loss_ppm = 200'000});
  std::size_t received = 0;
  for (int i = 0; i < 20; ++i, ++received) a_.receive({a_.data(0, 60'000)});
  for (int i = 0; i < 20; ++i) b_.send(send_of({b_.data(0, 60'000)}));
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() == received; }));
  EXPECT_GT(a_.end.count(TransportCounter::kRxCopied), 0U);
  EXPECT_TRUE(same(a_, 0, b_, 0, 60'000));
}

TEST_P(ViTransfer, S001_44_rdma_write_takes_no_receive_without_idata) {
  const auto receive = a_.receive({});
  const auto plain = b_.send(rdma_of(ViOp::kRdmaWrite, {b_.data(0, 5000)}, a_.region, 10000));
  const auto write = b_.send(rdma_of(ViOp::kRdmaWrite, {b_.data(9000, 70)}, a_.region, 20000, 99));
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 3; }));
  EXPECT_EQ(b_.status(plain), kViDone | kViOpRdmaWrite);
  EXPECT_EQ(b_.status(write), kViDone | kViOpRdmaWrite);
  EXPECT_EQ(a_.status(receive), kViDone | kViOpRemoteRdmaWrite | kViHasIdata);
  EXPECT_EQ(a_.word(receive, kViIdataAt), 99U);
  EXPECT_EQ(a_.word(receive, kViLengthAt), 70U);
  EXPECT_TRUE(same(a_, 10000, b_, 0, 5000));
  EXPECT_TRUE(same(a_, 20000, b_, 9000, 70));
  expect_no_entries();
}

TEST(UnreliableViTransfer, S001_44_has_no_rdma_read) {
  ViHarness harness(ViReliability::kUnreliable);
  ViSide& b = harness.b;
  const auto before = b.region.bytes;
  const auto read = b.send(rdma_of(ViOp::kRdmaRead, {b.data(100, 9000)}, harness.a.region, 30000));
  ASSERT_TRUE(harness.run_until([&] { return b.done.size() == 1; }));
  EXPECT_EQ(b.status(read), kViDone | kViOpRdmaRead | kViFormatError);
  EXPECT_EQ(b.region.bytes, before);
}

TEST_P(ReliableViTransfer, S001_44_rdma_read) {
  const auto read = b_.send(rdma_of(ViOp::kRdmaRead, {b_.data(100, 9000)}, a_.region, 30000));
  ASSERT_TRUE(harness_.run_until([&] { return b_.done.size() == 1; }));
  EXPECT_EQ(b_.status(read), kViDone | kViOpRdmaRead);
  EXPECT_TRUE(same(b_, 100, a_, 30000, 9000));
  const auto empty = b_.send(rdma_of(ViOp::kRdmaRead, {}, a_.region));
  ASSERT_TRUE(harness_.run_until([&] { return b_.done.size() == 2; }));
  EXPECT_EQ(b_.status(empty), kViDone | kViOpRdmaRead);
  expect_no_entries();
}

// The fenced send carries the data that the read before it has fetched.
TEST_P(ReliableViTransfer, S001_44_a_fenced_send_waits_for_the_read_before_it) {
  a_.receive({a_.data(100000, 20000)});
  b_.send(rdma_of(ViOp::kRdmaRead, {b_.data(0, 20000)}, a_.region, 30000));
  auto send = send_of({b_.data(0, 20000)});
  send.is_fenced = true;
  b_.send(send);
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 3; }));
  EXPECT_TRUE(same(a_, 100000, a_, 30000, 20000));
}

TEST_P(ViTransfer, S001_41_without_the_doorbell_nothing_is_processed) {
  const auto receive = a_.write(send_of({a_.data(0, 100)}));
  const auto send = b_.write(send_of({b_.data(0, 100)}));
  ASSERT_TRUE(a_.vi->post(ViQueue::kReceive, receive));
  ASSERT_TRUE(b_.vi->post(ViQueue::kSend, send));
  a_.vi->ring(ViQueue::kSend);  // each queue has its own
  b_.vi->ring(ViQueue::kReceive);
  harness_.settle();
  EXPECT_TRUE(a_.done.empty() && b_.done.empty());
  EXPECT_EQ(a_.status(receive), 0U);
  EXPECT_EQ(b_.status(send), 0U);
  a_.vi->ring(ViQueue::kReceive);
  b_.vi->ring(ViQueue::kSend);
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 2; }));
  EXPECT_EQ(a_.status(receive), kViDone | kViOpReceive);
  EXPECT_EQ(b_.status(send), kViDone | kViOpSend);
}

TEST_P(ViTransfer,
       S001_41_completions_come_in_the_order_of_posts_with_the_status_of_the_descriptor) {
  std::vector<ViDescriptorRef> receives, sends;
  for (std::uint32_t i = 0; i < 40; ++i) receives.push_back(a_.receive({a_.data(i * 100, 100)}));
  for (std::uint32_t i = 0; i < 40; ++i) {
    sends.push_back(b_.write(send_of({b_.data(i * 100, i + 1)}, i)));
    ASSERT_TRUE(b_.vi->post(ViQueue::kSend, sends.back()));
  }
  b_.vi->ring(ViQueue::kSend);  // one for all
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 80; }));
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(b_.done[i].descriptor, sends[i]) << i;
    EXPECT_EQ(b_.done[i].queue, ViQueue::kSend);
    EXPECT_EQ(a_.done[i].descriptor, receives[i]) << i;
    EXPECT_EQ(a_.done[i].queue, ViQueue::kReceive);
    EXPECT_EQ(a_.done[i].vi, a_.vi);
    EXPECT_EQ(a_.done[i].status, a_.status(receives[i])) << i;
    EXPECT_EQ(a_.word(receives[i], kViLengthAt), i + 1);
    EXPECT_EQ(a_.word(receives[i], kViIdataAt), i);
  }
}

TEST_P(ViTransfer, S001_41_a_place_is_free_when_its_completion_was_taken) {
  const std::size_t depth = a_.attributes.receive_depth;
  for (std::size_t i = 0; i < depth; ++i) a_.receive({});
  const auto more = a_.write(ViDescriptor{});
  EXPECT_FALSE(a_.vi->post(ViQueue::kReceive, more));
  b_.send(ViDescriptor{});
  ASSERT_TRUE(harness_.pair.run_until([&] {
    a_.cq->poll();
    return a_.status({a_.slots.start, a_.slots.handle}) != 0;
  }));
  EXPECT_FALSE(a_.vi->post(ViQueue::kReceive, more)) << "done, but not returned yet";
  a_.take();
  EXPECT_TRUE(a_.vi->post(ViQueue::kReceive, more));
}

TEST_P(ViTransfer, S001_41_a_queue_is_linked_by_the_next_fields) {
  const auto first = a_.receive({});
  const auto second = a_.receive({});
  std::uint64_t address = 0;
  std::memcpy(&address, a_.bytes(first) + kViNextAt, sizeof(address));
  EXPECT_EQ(VirtualAddress(address), second.address);
  EXPECT_EQ(a_.word(first, kViNextAt + 8), second.handle.value);
  EXPECT_EQ(a_.word(second, kViNextAt + 8), 0U) << "the last";
  // A done descriptor is its owner's and is not written any more, taken or not.
  b_.send(ViDescriptor{});
  b_.send(ViDescriptor{});
  ASSERT_TRUE(harness_.pair.run_until([&] {
    a_.cq->poll();
    return a_.status(second) != 0;
  }));
  a_.receive({});
  EXPECT_EQ(a_.word(second, kViNextAt + 8), 0U);
}

TEST_P(ReliableViTransfer, S001_44_the_memory_of_a_read_need_not_be_readable) {
  auto& memory = b_.end.memory(100, 0, kLocalWrite);
  const auto read = b_.send(rdma_of(ViOp::kRdmaRead, {memory.sge()}, a_.region));
  ASSERT_TRUE(harness_.run_until([&] { return b_.done.size() == 1; }));
  EXPECT_EQ(b_.status(read), kViDone | kViOpRdmaRead);
  EXPECT_EQ(std::memcmp(memory.bytes.data(), a_.region.bytes.data(), 100), 0);
}

}  // namespace splitnic::fabric::testing::vi_test
