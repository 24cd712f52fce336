// Completion events: a completion queue that is armed notifies once, of the completions for which
// it was armed, and a channel makes a descriptor readable by it.
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::completion_events_test {

using namespace std::chrono_literals;

// Lists the queues that fired.
struct Notified final : CompletionNotifier {
  void on_completion(CqId cq) override { queues.push_back(cq); }
  std::vector<CqId> queues;
};

class ArmedQueueTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kDepth = 4;

  bool push(WcStatus status = WcStatus::kSuccess, bool is_solicited = false) {
    Wc wc;
    wc.status = status;
    wc.is_solicited = is_solicited;
    return queue_.push(wc);
  }
  std::size_t notifications() const { return notified_.queues.size(); }

  Notified notified_;
  CompletionQueue queue_{kDepth, base::MemoryCharge(), &notified_, CqId(7)};
};

TEST_F(ArmedQueueTest, S000_02_it_notifies_of_the_next_completion_once) {
  queue_.arm(CqEvents::kNext);
  EXPECT_EQ(notifications(), 0U);
  ASSERT_TRUE(push());
  EXPECT_EQ(notified_.queues, std::vector<CqId>{CqId(7)});
  ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 1U) << "it was not armed once more";
  queue_.arm(CqEvents::kNext);
  EXPECT_EQ(notifications(), 1U) << "the completions that are there do not count";
  ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 2U);
}

TEST_F(ArmedQueueTest, S000_02_it_notifies_of_a_solicited_completion_or_an_error) {
  queue_.arm(CqEvents::kSolicited);
  ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 0U);
  ASSERT_TRUE(push(WcStatus::kSuccess, true));
  EXPECT_EQ(notifications(), 1U);
  queue_.arm(CqEvents::kSolicited);
  ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 1U);
  ASSERT_TRUE(push(WcStatus::kFlushed));
  EXPECT_EQ(notifications(), 2U);
}

TEST_F(ArmedQueueTest, S000_02_it_notifies_of_nothing_unless_it_is_armed) {
  ASSERT_TRUE(push());
  ASSERT_TRUE(push(WcStatus::kSuccess, true));
  ASSERT_TRUE(push(WcStatus::kFlushed));
  EXPECT_EQ(notifications(), 0U);
}

TEST_F(ArmedQueueTest, S000_02_armed_for_both_it_notifies_of_the_next) {
  queue_.arm(CqEvents::kNext);
  queue_.arm(CqEvents::kSolicited);
  ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 1U);
  queue_.arm(CqEvents::kSolicited);
  queue_.arm(CqEvents::kNext);
  ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 2U);
}

// Otherwise an owner that waits for a solicited one would sleep on a full queue.
TEST_F(ArmedQueueTest, S000_02_it_notifies_of_a_completion_that_finds_no_room) {
  queue_.arm(CqEvents::kSolicited);
  for (std::size_t i = 0; i < kDepth; ++i) ASSERT_TRUE(push());
  EXPECT_EQ(notifications(), 0U);
  EXPECT_FALSE(push());
  EXPECT_EQ(notifications(), 1U);
  EXPECT_FALSE(push(WcStatus::kFlushed));
  EXPECT_EQ(notifications(), 1U);
}

bool is_readable(const CompletionChannel& channel) {
  pollfd waited{.fd = channel.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, 0) == 1;
}

// End a receives on queues that share a channel, and polls them only where the test does.
class CompletionEventsTest : public ::testing::Test {
 protected:
  End& a() { return pair_.a(); }
  End& b() { return pair_.b(); }
  CqId make_queue() { return a().adapter->create_cq(64, nullptr, channel_.get()).value(); }
  // A queue pair at each end; that of end a completes on these queues.
  QpPair connect(CqId sends, CqId receives) {
    QpInit at_a;
    at_a.common.pd = a().pd;
    at_a.common.send_cq = sends;
    at_a.common.recv_cq = receives;
    const QpPair qp{a().create_qp(at_a), b().create_qp(QpInit{})};
    const MgmtPair here = a().adapter->describe(qp.a, 0, 0);
    const MgmtPair there = b().adapter->describe(qp.b, 0, 0);
    CHECK(a().adapter->connect_qp(here, there, a().link()).has_value());
    CHECK(b().adapter->connect_qp(there, here, b().link()).has_value());
    return qp;
  }
  void arm(CqId cq, CqEvents events) { ASSERT_TRUE(a().adapter->arm_cq(cq, events)); }
  // End a has completed the receive when this returns.
  void send(const QpPair& qp, bool is_solicited) {
    ASSERT_TRUE(a().post_recv(qp.a, {room_.sge()}));
    const std::vector<Sge> gather{text_.sge()};
    SendWr wr;
    wr.gather = gather;
    wr.is_solicited = is_solicited;
    const std::size_t before = b().sent.size();
    ASSERT_TRUE(b().adapter->post_send(qp.b, wr));
    ASSERT_TRUE(pair_.run_until([&] { return b().sent.size() > before; }));
    EXPECT_EQ(b().sent.back().status, WcStatus::kSuccess);
  }
  std::vector<Wc> poll(CqId cq) {
    std::array<Wc, 64> wcs;
    const std::size_t count = a().adapter->poll_cq(cq, wcs);
    return {wcs.begin(), wcs.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  bool has_fired() const { return is_readable(*channel_); }
  std::vector<CqId> clear() {
    const std::span<const CqId> fired = channel_->clear();
    return {fired.begin(), fired.end()};
  }

  std::unique_ptr<CompletionChannel> channel_ = CompletionChannel::open().value();
  AdapterPair pair_;
  Memory& text_ = pair_.b().memory(100, 3);
  Memory& room_ = pair_.a().memory(100);
  const CqId sends_ = make_queue();
  const CqId receives_ = make_queue();
  const QpPair qp_ = connect(sends_, receives_);
};

TEST_F(CompletionEventsTest, S000_02_a_descriptor_is_readable_from_the_next_completion_on) {
  arm(receives_, CqEvents::kNext);
  EXPECT_FALSE(has_fired());
  send(qp_, false);
  EXPECT_TRUE(has_fired());
  EXPECT_TRUE(has_fired()) << "until it is cleared";
  EXPECT_EQ(clear(), std::vector<CqId>{receives_});
  EXPECT_FALSE(has_fired());
  EXPECT_TRUE(clear().empty());
  send(qp_, false);
  EXPECT_FALSE(has_fired()) << "armed once, it fires once";
  EXPECT_EQ(poll(receives_).size(), 2U);
}

TEST_F(CompletionEventsTest, S000_02_a_queue_that_is_not_armed_never_fires) {
  for (const bool is_solicited : {false, true}) send(qp_, is_solicited);
  a().qp(qp_.a).enter_error();
  EXPECT_FALSE(has_fired());
  EXPECT_TRUE(clear().empty());
}

// The race of every such interface: arm, poll once more, and only then wait.
TEST_F(CompletionEventsTest, S000_02_a_completion_from_before_fires_nothing) {
  send(qp_, true);
  arm(receives_, CqEvents::kNext);
  pair_.run_for(1ms);
  EXPECT_FALSE(has_fired());
  EXPECT_EQ(poll(receives_).size(), 1U) << "the poll behind arm_cq() finds it";
  send(qp_, false);
  EXPECT_TRUE(has_fired());
}

TEST_F(CompletionEventsTest, S000_02_it_sleeps_through_completions_that_are_not_solicited) {
  arm(receives_, CqEvents::kSolicited);
  for (int i = 0; i < 3; ++i) send(qp_, false);
  EXPECT_FALSE(has_fired());
  send(qp_, true);
  EXPECT_TRUE(has_fired());
  const std::vector<Wc> wcs = poll(receives_);
  ASSERT_EQ(wcs.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(wcs[i].is_solicited, i == 3) << i;
}

TEST_F(CompletionEventsTest, S000_02_armed_for_solicited_ones_it_fires_for_an_error) {
  ASSERT_TRUE(a().post_recv(qp_.a, {room_.sge()}));
  arm(receives_, CqEvents::kSolicited);
  a().qp(qp_.a).enter_error();
  EXPECT_EQ(clear(), std::vector<CqId>{receives_});
  const std::vector<Wc> wcs = poll(receives_);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, WcStatus::kFlushed);
}

// The completion of a send is not solicited, so its owner is notified of failures only.
TEST_F(CompletionEventsTest, S000_02_the_owner_of_sends_may_wait_for_a_failure) {
  Memory& to = b().memory(100);
  arm(sends_, CqEvents::kSolicited);
  ASSERT_TRUE(a().post_write(qp_.a, {room_.sge()}, to.start, to.handle));
  pair_.run_for(1ms);
  ASSERT_EQ(poll(sends_).size(), 1U);
  EXPECT_FALSE(has_fired());
  const MemoryHandle wrong(to.handle.value ^ 1);
  ASSERT_TRUE(a().post_write(qp_.a, {room_.sge()}, to.start, wrong));
  ASSERT_TRUE(pair_.run_until([&] { return has_fired(); }));
  EXPECT_EQ(clear(), std::vector<CqId>{sends_});
  ASSERT_FALSE(poll(sends_).empty());
}

TEST_F(CompletionEventsTest, S000_02_queues_share_a_channel_that_names_those_that_fired) {
  const CqId other = make_queue();
  const CqId quiet = make_queue();
  const QpPair second = connect(sends_, other);
  for (const CqId cq : {receives_, other, quiet}) arm(cq, CqEvents::kNext);
  send(second, false);
  send(qp_, false);
  EXPECT_TRUE(has_fired());
  EXPECT_EQ(clear(), (std::vector<CqId>{other, receives_}));
  EXPECT_FALSE(has_fired());
  arm(receives_, CqEvents::kNext);
  send(second, false);
  EXPECT_FALSE(has_fired());
  send(qp_, false);
  EXPECT_EQ(clear(), std::vector<CqId>{receives_});
}

TEST_F(CompletionEventsTest, S000_02_a_queue_that_fires_twice_is_named_once) {
  for (int i = 0; i < 2; ++i) {
    arm(receives_, CqEvents::kNext);
    send(qp_, false);
  }
  EXPECT_EQ(clear(), std::vector<CqId>{receives_});
  EXPECT_FALSE(has_fired());
}

TEST_F(CompletionEventsTest, S000_02_a_queue_without_a_notifier_cannot_be_armed) {
  const auto refused = a().adapter->arm_cq(a().recv_cq, CqEvents::kNext);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EINVAL);
}

}  // namespace splitnic::fabric::testing::completion_events_test
