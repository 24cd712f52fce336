// Set-up and teardown of VIs, and what enters the kernel agent.
#include "fabric_emul/via/kernel_agent.h"

#include <gtest/gtest.h>

#include "tests/support/vi_harness.h"

namespace splitnic::fabric::testing::kernel_agent_test {

class KernelAgentTest : public ::testing::Test {
 protected:
  void connect(std::uint32_t discriminator = kViDiscriminator) {
    ASSERT_TRUE(b_.agent.connect(*b_.vi, b_.end.link(), discriminator));
    harness_.settle();
  }
  ViHarness harness_{ViHarness::with(ViReliability::kDelivery), false};
  ViSide& a_ = harness_.a;
  ViSide& b_ = harness_.b;
};

TEST_F(KernelAgentTest, S001_43_each_step_of_set_up_enters_it) {
  std::uint64_t before = b_.agent.entries();
  EXPECT_GT(before, 0U) << "queues, memory, VI";
  const auto entered = [&] { return std::exchange(before, b_.agent.entries()) < before; };
  harness_.connect();
  EXPECT_TRUE(entered());
  ASSERT_TRUE(b_.agent.disconnect(*b_.vi));
  EXPECT_TRUE(entered());
  ASSERT_TRUE(b_.agent.destroy_vi(*b_.vi));
  EXPECT_TRUE(entered());
  ASSERT_TRUE(b_.agent.destroy_cq(*b_.cq));
  EXPECT_TRUE(entered());
  ASSERT_TRUE(b_.agent.deregister_memory(b_.region.handle));
  EXPECT_TRUE(entered());
}

TEST_F(KernelAgentTest, S001_43_a_vi_with_posted_descriptors_is_not_destroyed) {
  const auto posted = b_.write(ViDescriptor{});
  ASSERT_TRUE(b_.vi->post(ViQueue::kReceive, posted));  // not even rung
  EXPECT_FALSE(b_.agent.destroy_vi(*b_.vi));
  harness_.connect();
  EXPECT_FALSE(b_.agent.destroy_vi(*b_.vi)) << "connected";
  const auto rung = b_.receive({b_.data(0, 100)});
  const auto sent = b_.write(ViDescriptor{});
  ASSERT_TRUE(b_.vi->post(ViQueue::kSend, sent));
  ASSERT_TRUE(b_.agent.disconnect(*b_.vi));
  EXPECT_EQ(b_.status(sent), kViDone | kViFlushed);
  EXPECT_EQ(b_.status(posted), kViDone | kViFlushed | kViOpReceive);
  EXPECT_EQ(b_.status(rung), kViDone | kViFlushed | kViOpReceive);
  EXPECT_FALSE(b_.agent.destroy_vi(*b_.vi)) << "not reported yet";
  EXPECT_FALSE(b_.agent.destroy_cq(*b_.cq));
  b_.take();
  EXPECT_EQ(b_.done.size(), 3U);
  const std::size_t qps = b_.end.adapter->qp_count();
  EXPECT_TRUE(b_.agent.destroy_vi(*b_.vi));
  EXPECT_EQ(b_.end.adapter->qp_count(), qps - 1);
  EXPECT_TRUE(b_.agent.destroy_cq(*b_.cq));
}

TEST_F(KernelAgentTest, S001_43_a_vi_that_is_connected_or_about_to_be_is_not_connected_again) {
  ASSERT_TRUE(a_.agent.wait(*a_.vi, 1));
  EXPECT_FALSE(a_.agent.wait(*a_.vi, 2));
  EXPECT_FALSE(a_.agent.connect(*a_.vi, a_.end.link(), 2));
  ASSERT_TRUE(b_.agent.connect(*b_.vi, b_.end.link(), 1));
  EXPECT_FALSE(b_.agent.connect(*b_.vi, b_.end.link(), 1));
  harness_.settle();
  EXPECT_EQ(b_.vi->state(), ViState::kConnected);
  EXPECT_FALSE(b_.agent.connect(*b_.vi, b_.end.link(), 1));
  EXPECT_FALSE(b_.agent.wait(*b_.vi, 1));
  a_.receive({a_.data(0, 10)});
  b_.send(send_of({b_.data(0, 10)}));
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 2; }));
  EXPECT_EQ(a_.done[0].status, kViDone | kViOpReceive) << "the connection is as it was";
}

TEST_F(KernelAgentTest, S001_43_discriminator_and_level_must_be_those_of_a_vi_that_waits) {
  connect();
  EXPECT_EQ(b_.vi->state(), ViState::kIdle) << "nobody waits";
  EXPECT_EQ(b_.errors, std::vector<std::string>{std::string(name(MgmtReject::kRefused))});
  ASSERT_TRUE(a_.agent.wait(*a_.vi, 7));
  connect(8);
  EXPECT_EQ(b_.vi->state(), ViState::kIdle);
  auto attributes = b_.attributes;
  attributes.reliability = ViReliability::kReception;
  Vi& other = *b_.agent.create_vi(attributes, *b_.cq, *b_.cq).value();
  ASSERT_TRUE(b_.agent.connect(other, b_.end.link(), 7));
  harness_.settle();
  EXPECT_EQ(other.state(), ViState::kIdle);
  EXPECT_EQ(a_.vi->state(), ViState::kConnectPending);
  connect(7);
  EXPECT_EQ(b_.vi->state(), ViState::kConnected);
}

TEST_F(KernelAgentTest, S001_43_a_disconnect_ends_both_sides_and_a_vi_may_connect_again) {
  for (int round = 0; round < 3; ++round) {
    harness_.connect();
    a_.done.clear();
    b_.done.clear();
    a_.receive({a_.data(0, 100)});
    const auto left = a_.receive({a_.data(0, 100)});
    b_.send(send_of({b_.data(200, 100)}));
    ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() + b_.done.size() == 2; }));
    ASSERT_TRUE(b_.agent.disconnect(*b_.vi));
    harness_.settle();
    EXPECT_EQ(b_.vi->state(), ViState::kIdle);
    EXPECT_EQ(a_.vi->state(), ViState::kError);
    EXPECT_EQ(a_.status(left), kViDone | kViFlushed | kViOpReceive);
    EXPECT_EQ(a_.errors.size(), static_cast<std::size_t>(round + 1));
    ASSERT_TRUE(a_.agent.disconnect(*a_.vi));
    EXPECT_EQ(a_.vi->state(), ViState::kIdle);
  }
}

// Both sides have one agent, and their connection has one id.
TEST_F(KernelAgentTest, S001_43_two_vis_of_one_adapter_connect_over_its_loopback) {
  Link* const near = b_.end.adapter->open_loopback(harness_.pair.now()).value();
  ASSERT_TRUE(harness_.run_until([&] { return near->up(); }));
  harness_.settle();
  Vi& waiting = *b_.agent.create_vi(b_.attributes, *b_.cq, *b_.cq).value();
  for (const bool is_ended_by_the_waiting : {false, true}) {
    b_.done.clear();
    b_.errors.clear();
    ASSERT_TRUE(b_.agent.wait(waiting, kViDiscriminator));
    ASSERT_TRUE(b_.agent.connect(*b_.vi, *near, kViDiscriminator));
    harness_.settle();
    ASSERT_EQ(b_.vi->state(), ViState::kConnected);
    ASSERT_EQ(waiting.state(), ViState::kConnected);
    EXPECT_TRUE(b_.errors.empty());
    ASSERT_TRUE(waiting.post(ViQueue::kReceive, b_.write(send_of({b_.data(5000, 100)}))));
    waiting.ring(ViQueue::kReceive);
    b_.send(send_of({b_.data(0, 100)}));
    ASSERT_TRUE(harness_.run_until([&] { return b_.done.size() == 2; }));
    for (const ViCompletion& one : b_.done) EXPECT_EQ(one.status & kViErrors, 0U);

    Vi& first = is_ended_by_the_waiting ? waiting : *b_.vi;
    Vi& second = is_ended_by_the_waiting ? *b_.vi : waiting;
    ASSERT_TRUE(b_.agent.disconnect(first));
    harness_.settle();
    EXPECT_EQ(first.state(), ViState::kIdle);
    EXPECT_EQ(second.state(), ViState::kError) << "its peer has disconnected";
    EXPECT_EQ(b_.errors.size(), 1U);
    ASSERT_TRUE(b_.agent.disconnect(second));
    harness_.settle();
  }
}

TEST_F(KernelAgentTest, S001_43_after_an_error_a_vi_may_connect_again) {
  harness_.connect();
  const auto wrong = b_.write(ViDescriptor{});
  b_.bytes(wrong)[14] = std::byte{0x10};
  b_.post_and_ring(ViQueue::kSend, wrong);
  harness_.settle();
  EXPECT_FALSE(b_.agent.connect(*b_.vi, b_.end.link(), kViDiscriminator)) << "in the error state";
  ASSERT_TRUE(a_.agent.disconnect(*a_.vi));
  ASSERT_TRUE(b_.agent.disconnect(*b_.vi));
  harness_.connect();
  a_.receive({});
  const auto send = b_.send(ViDescriptor{});
  ASSERT_TRUE(harness_.run_until([&] { return b_.done.size() == 2; }));
  EXPECT_EQ(b_.status(send), kViDone + 0U);
}

TEST_F(KernelAgentTest, S001_43_the_largest_transfer_is_that_of_the_smaller_side) {
  auto attributes = a_.attributes;
  attributes.transfer_max = 1000;
  Vi& small = *a_.agent.create_vi(attributes, *a_.cq, *a_.cq).value();
  ASSERT_TRUE(a_.agent.wait(small, kViDiscriminator));
  connect();
  ASSERT_TRUE(small.post(ViQueue::kReceive, a_.write(send_of({a_.data(0, 5000)}))));
  small.ring(ViQueue::kReceive);
  const auto fits = b_.send(send_of({b_.data(0, 1000)}));
  const auto too_long = b_.send(send_of({b_.data(0, 1001)}));
  harness_.settle();
  EXPECT_EQ(b_.status(fits), kViDone + 0U);
  EXPECT_EQ(b_.status(too_long), kViDone | kViLengthError);
}

TEST_F(KernelAgentTest, S001_43_what_waits_or_asks_may_be_called_off) {
  ASSERT_TRUE(a_.agent.wait(*a_.vi, kViDiscriminator));
  ASSERT_TRUE(a_.agent.disconnect(*a_.vi));
  connect();
  EXPECT_EQ(b_.vi->state(), ViState::kIdle);
  ASSERT_TRUE(b_.agent.connect(*b_.vi, b_.end.link(), kViDiscriminator));
  ASSERT_TRUE(b_.agent.disconnect(*b_.vi));
  harness_.connect();
}

TEST_F(KernelAgentTest,
       S001_43_a_send_before_the_connection_is_flushed_and_a_receive_waits_for_it) {
  const auto send = b_.send(send_of({b_.data(0, 10)}));
  EXPECT_EQ(b_.status(send), kViDone | kViFlushed);
  EXPECT_EQ(b_.vi->state(), ViState::kIdle);
  const auto receive = a_.receive({a_.data(0, 10)});
  harness_.connect();
  EXPECT_EQ(a_.status(receive), 0U);
  b_.send(send_of({b_.data(0, 10)}));
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() == 1; }));
  EXPECT_EQ(a_.status(receive), kViDone | kViOpReceive);
}

TEST_F(KernelAgentTest, S001_43_notify_reports_the_next_completion_once) {
  harness_.connect();
  int notified = 0;
  a_.agent.notify(*a_.cq, [&] { ++notified; });
  for (int i = 0; i < 3; ++i) a_.receive({});
  harness_.settle();
  EXPECT_EQ(notified, 0);
  for (int i = 0; i < 3; ++i) b_.send(ViDescriptor{});
  ASSERT_TRUE(harness_.run_until([&] { return a_.done.size() == 3; }));
  EXPECT_EQ(notified, 1);
}

TEST_F(KernelAgentTest, S001_41_a_completion_queue_has_room_for_all_that_completes_in_it) {
  ViCq& small = *b_.agent.create_cq(100).value();
  ViAttributes attributes = b_.attributes;
  attributes.send_depth = 60;
  attributes.receive_depth = 41;
  EXPECT_FALSE(b_.agent.create_vi(attributes, small, small));
  attributes.receive_depth = 40;
  EXPECT_TRUE(b_.agent.create_vi(attributes, small, small));
  attributes.send_depth = attributes.receive_depth = 1;
  EXPECT_FALSE(b_.agent.create_vi(attributes, small, *b_.cq));
  EXPECT_FALSE(b_.agent.create_vi(attributes, *b_.cq, small));
}

}  // namespace splitnic::fabric::testing::kernel_agent_test
