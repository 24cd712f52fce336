// Registration through the send queue that fails: drain and resume, or the end of both queue pairs.
#include <gtest/gtest.h>

#include "tests/support/cell_maker.h"
#include "tests/support/reader.h"
#include "tests/support/registrar.h"

namespace splitnic::fabric::testing::registration_failure_test {

using S = WcStatus;

// Option 1 and option 2: a registration that finds no room, with work before and behind it.
class FailedRegistration : public QueueRegistration {
 protected:
  FailedRegistration() : QueueRegistration(0) {}  // no page of a table at all

  // Write, register, write, send.
  void post_all(Qpn qpn) {
    End& b = pair_.b();
    ASSERT_TRUE(b.post_write(qpn, {from_.sge()}, target_.start, target_.handle, 1));
    key_ = post_register(b, qpn, pages_.region(), 2).value();
    ASSERT_TRUE(b.post_write(qpn, {from_.sge()}, target_.at(4000), target_.handle, 3));
    ASSERT_TRUE(b.post_send(qpn, {from_.sge()}, 4));
  }
  QpState state_b(Qpn qpn) { return pair_.b().qp(qpn).state(); }

  Memory& from_ = pair_.b().memory(3000, 3);
  Memory& inbox_b_ = pair_.b().memory(4096);
  Pages pages_{2, 4};
  MemoryHandle key_;
};

TEST_F(FailedRegistration, S002_32_X_20_drains_completes_in_order_and_resumes) {
  QpInit init;  // names no failure option
  init.registers_in_queue = true;
  init.common.max_dest_rd_atomic = 4;
  const QpPair qp = pair_.connect(init);
  End& b = pair_.b();
  ASSERT_TRUE(b.post_recv(qp.b, {inbox_b_.sge()}, 50));
  const std::size_t live = table().live_count();
  post_all(qp.b);
  ASSERT_TRUE(completes(4));
  EXPECT_EQ(wr_ids(b.sent), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(statuses(b.sent),
            (std::vector{S::kSuccess, S::kRegisterSpace, S::kFlushed, S::kFlushed}));
  ASSERT_EQ(state_b(qp.b), QpState::kSqd);
  EXPECT_EQ(table().live_count(), live);
  EXPECT_TRUE(b.qp(qp.b).take_drained());
  EXPECT_FALSE(b.qp(qp.b).take_drained());
  EXPECT_EQ(pair_.a().qp(qp.a).state(), QpState::kRts) << "the peer is not notified";

  // The receive queue, incoming writes and incoming reads continue.
  Memory& asked = pair_.a().memory(3000);
  ASSERT_TRUE(pair_.a().post_send(qp.a, {target_.sge(0, 100)}));
  ASSERT_TRUE(
      pair_.a().post_write(qp.a, {target_.sge(0, 200)}, inbox_b_.at(1000), inbox_b_.handle));
  ASSERT_TRUE(post_read(pair_.a(), qp.a, {asked.sge()}, from_));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.a().sent.size() == 3; }));
  EXPECT_EQ(statuses(pair_.a().sent), std::vector(3, S::kSuccess));
  EXPECT_EQ(asked.bytes, from_.bytes);
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].status, S::kSuccess);

  // A work request that is posted now waits for the verb, and does not fail any more.
  std::vector<std::byte> span(64, std::byte{9});
  const auto better = post_register(b, qp.b, span_region(span), 5).value();
  ASSERT_TRUE(b.post_write(qp.b, {piece_of(b, better, 64)}, target_.at(5000), target_.handle, 6));
  pair_.run_for(std::chrono::seconds(1));
  EXPECT_EQ(b.sent.size(), 4U);
  ASSERT_TRUE(b.adapter->resume_sq(qp.b));
  EXPECT_EQ(state_b(qp.b), QpState::kRts);
  ASSERT_TRUE(completes(6));
  EXPECT_EQ(wr_ids(b.sent), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(b.sent[4].status, S::kSuccess);
  EXPECT_EQ(b.sent[5].status, S::kSuccess);
  EXPECT_EQ(target_.bytes[5063], std::byte{9});
  EXPECT_EQ(target_.bytes[4000], std::byte{0}) << "what was flushed was not sent";
  EXPECT_FALSE(b.adapter->resume_sq(qp.b)) << "in RTS there is nothing to resume";
}

TEST_F(FailedRegistration, S002_32_work_before_it_is_repaired_and_completes_first) {
  for (const bool selective : {true, false}) {
    QpInit init = registering();
    init.selective_repeat = selective;
    init.common.max_dest_rd_atomic = 4;
    init.common.fixed_rto = std::chrono::milliseconds(5);
    const QpPair qp = pair_.connect(init);
    Memory& other = pair_.a().memory(3000, 8);
    Memory& to = pair_.b().memory(3000);
    pair_.b().sent.clear();
    ASSERT_TRUE(post_read(pair_.b(), qp.b, {to.sge()}, other, 0, 0));
    post_all(qp.b);
    pair_.a().faults.set_config({.loss_ppm = 1'000'000});
    pair_.step();
    pair_.run_for(std::chrono::milliseconds(1));
    EXPECT_EQ(state_b(qp.b), QpState::kSqd) << "at once";
    EXPECT_TRUE(pair_.b().sent.empty());
    EXPECT_FALSE(pair_.b().qp(qp.b).take_drained());
    const auto early = pair_.b().adapter->resume_sq(qp.b);
    ASSERT_FALSE(early) << "the failed one has not completed";
    EXPECT_EQ(early.error().errno_value(), EBUSY);
    pair_.a().faults.set_config({});
    ASSERT_TRUE(completes(5));
    EXPECT_EQ(wr_ids(pair_.b().sent), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(statuses(pair_.b().sent),
              (std::vector{S::kSuccess, S::kSuccess, S::kRegisterSpace, S::kFlushed, S::kFlushed}));
    EXPECT_EQ(to.bytes, other.bytes);
    EXPECT_TRUE(pair_.b().qp(qp.b).take_drained());
    ASSERT_TRUE(pair_.b().adapter->resume_sq(qp.b));
    ASSERT_TRUE(pair_.b().post_write(qp.b, {from_.sge()}, target_.at(4000), target_.handle, 9));
    ASSERT_TRUE(completes(6));
    EXPECT_EQ(pair_.b().sent[5].status, S::kSuccess);
  }
}

TEST_F(FailedRegistration, S002_32_on_uc) {
  const QpPair qp = pair_.connect(registering(FailureOption::kReactive, Service::kUc));
  post_all(qp.b);
  ASSERT_TRUE(completes(4));
  EXPECT_EQ(wr_ids(pair_.b().sent), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(statuses(pair_.b().sent),
            (std::vector{S::kSuccess, S::kRegisterSpace, S::kFlushed, S::kFlushed}));
  EXPECT_EQ(state_b(qp.b), QpState::kSqd);
  ASSERT_TRUE(pair_.b().adapter->resume_sq(qp.b));
  ASSERT_TRUE(pair_.b().post_write(qp.b, {from_.sge()}, target_.at(4000), target_.handle, 5));
  ASSERT_TRUE(completes(5));
  ASSERT_TRUE(pair_.run_until([&] { return target_.bytes[6999] == from_.bytes[2999]; }));
}

TEST_F(FailedRegistration, S002_33_both_ends_go_to_err_and_the_peer_knows_why) {
  const QpPair qp = pair_.connect(registering(FailureOption::kAnticipatory));
  const QpPair other = pair_.connect(QpInit{});
  End& a = pair_.a();
  End& b = pair_.b();
  ASSERT_TRUE(b.post_recv(qp.b, {inbox_b_.sge()}, 50));
  ASSERT_TRUE(a.post_recv(qp.a, {inbox_.sge()}, 60));
  const std::size_t live = table().live_count();
  post_all(qp.b);
  ASSERT_TRUE(completes(4));
  EXPECT_EQ(state_b(qp.b), QpState::kErr);
  EXPECT_EQ(wr_ids(b.sent), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(b.sent[1].status, S::kRegisterSpace);
  EXPECT_EQ(b.sent[2].status, S::kFlushed);
  EXPECT_EQ(b.sent[3].status, S::kFlushed);
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].status, S::kFlushed);
  EXPECT_EQ(table().live_count(), live);
  ASSERT_TRUE(pair_.run_until([&] { return a.qp(qp.a).state() == QpState::kErr; }));
  a.drain();
  ASSERT_EQ(a.received.size(), 1U);
  EXPECT_EQ(a.received[0].status, S::kFlushed);
  EXPECT_EQ(a.count(TransportCounter::kRxTerminate), 1U);
  EXPECT_EQ(b.count(TransportCounter::kTxTerminate), 1U);
  const auto& why = a.qp(qp.a).ended_by_peer();
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->cause, TerminateCause::kLocalCatastrophic);
  EXPECT_EQ(why->handle, key_);
  EXPECT_EQ(a.qp(other.a).state(), QpState::kRts) << "another queue pair of the same link";
  EXPECT_FALSE(b.adapter->resume_sq(qp.b));
}

TEST_F(FailedRegistration, S002_33_a_peer_that_sends_nothing_is_notified_too) {
  const QpPair qp = pair_.connect(registering(FailureOption::kAnticipatory));
  ASSERT_TRUE(post_register(pair_.b(), qp.b, pages_.region()));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.a().qp(qp.a).state() == QpState::kErr; },
                              std::chrono::milliseconds(1)));
}

TEST_F(FailedRegistration, S002_33_a_lost_terminate_comes_again_when_the_peer_sends) {
  const QpPair qp = pair_.connect(registering(FailureOption::kAnticipatory));
  End& a = pair_.a();
  pair_.a().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(post_register(pair_.b(), qp.b, pages_.region()));
  ASSERT_TRUE(completes(1));
  pair_.run_for(std::chrono::milliseconds(1));
  pair_.a().faults.set_config({});
  EXPECT_EQ(a.qp(qp.a).state(), QpState::kRts);
  ASSERT_TRUE(a.post_write(qp.a, {target_.sge(0, 8)}, inbox_b_.start, inbox_b_.handle));
  ASSERT_TRUE(pair_.run_until([&] { return a.qp(qp.a).state() == QpState::kErr; },
                              std::chrono::milliseconds(500)));
  a.drain();
  EXPECT_EQ(statuses(a.sent), std::vector{S::kFlushed});
  EXPECT_EQ(a.count(TransportCounter::kRxTerminate), 1U);
}

TEST_F(FailedRegistration, S002_33_two_ends_that_end_themselves_stop_replying) {
  const QpPair qp = pair_.connect(registering(FailureOption::kAnticipatory));
  std::vector<std::byte> memory(64);
  // Each key is returned before its work request runs.
  for (End* e : {&pair_.a(), &pair_.b()}) {
    const Qpn qpn = e == &pair_.a() ? qp.a : qp.b;
    const auto key = post_register(*e, qpn, span_region(memory)).value();
    ASSERT_TRUE(e->adapter->memory().regions().deregister(key));
  }
  // Both find it before either hears of the other.
  pair_.a().adapter->transmit(pair_.now());
  pair_.b().adapter->transmit(pair_.now());
  pair_.run_for(std::chrono::seconds(2));
  EXPECT_EQ(pair_.a().qp(qp.a).state(), QpState::kErr);
  EXPECT_EQ(state_b(qp.b), QpState::kErr);
  EXPECT_EQ(pair_.a().count(TransportCounter::kTxTerminate), 1U);
  EXPECT_EQ(pair_.b().count(TransportCounter::kTxTerminate), 1U);
}

TEST_F(FailedRegistration, S002_33_on_uc_the_queue_pair_ends_alone) {
  const QpPair qp = pair_.connect(registering(FailureOption::kAnticipatory, Service::kUc));
  ASSERT_TRUE(post_register(pair_.b(), qp.b, pages_.region()));
  ASSERT_TRUE(completes(1));
  EXPECT_EQ(pair_.b().sent[0].status, S::kRegisterSpace);
  EXPECT_EQ(state_b(qp.b), QpState::kErr);
  ASSERT_TRUE(pair_.a().post_write(qp.a, {target_.sge(0, 8)}, inbox_b_.start, inbox_b_.handle));
  pair_.run_for(std::chrono::milliseconds(10));
  EXPECT_EQ(pair_.a().qp(qp.a).state(), QpState::kRts);
  EXPECT_EQ(pair_.b().count(TransportCounter::kTxTerminate), 0U);
}

TEST_F(FailedRegistration, S002_33_a_terminate_of_another_pair_or_another_time_does_nothing) {
  const QpPair qp = pair_.connect(QpInit{});
  const QpPair other = pair_.connect(QpInit{});
  End& a = pair_.a();
  Terminate cause;
  std::array<std::byte, kTerminateBytes> payload;
  cause.emit(payload.data());
  const auto nothing_happened = [&](TransportCounter reason, std::uint64_t count) {
    pair_.run_for(std::chrono::milliseconds(1));
    EXPECT_EQ(a.count(reason), count);
    EXPECT_EQ(a.count(TransportCounter::kRxTerminate), 0U);
    EXPECT_EQ(a.qp(qp.a).state(), QpState::kRts);
    EXPECT_EQ(a.qp(other.a).state(), QpState::kRts);
  };
  // From a queue pair of the same peer that is not this one's.
  CellMaker(pair_, 1, other.b, 0, qp.a).send(Op::kTerminate, Pos::kOnly, payload);
  nothing_happened(TransportCounter::kCellDropSource, 1);
  // Of requests that were all taken before, or that cannot have been sent.
  CellMaker stale(pair_, 1, qp.b, 0, qp.a);
  stale.psn = stale.psn - 1U;
  stale.send(Op::kTerminate, Pos::kOnly, payload);
  nothing_happened(TransportCounter::kCellDropWindow, 1);
  CellMaker guessed(pair_, 1, qp.b, 0, qp.a);
  guessed.psn = guessed.psn + (1U << 20);
  guessed.send(Op::kTerminate, Pos::kOnly, payload);
  nothing_happened(TransportCounter::kCellDropWindow, 2);
  // A cause that does not exist.
  payload[0] = std::byte{0xFF};
  CellMaker(pair_, 1, qp.b, 0, qp.a).send(Op::kTerminate, Pos::kOnly, payload);
  nothing_happened(TransportCounter::kCellDropFormat, 1);
  // The real one ends its pair and no other; the second finds it ended.
  payload[0] = std::byte{0};
  for (int i = 0; i < 2; ++i) {
    CellMaker(pair_, 1, qp.b, 0, qp.a).send(Op::kTerminate, Pos::kOnly, payload);
  }
  pair_.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(a.qp(qp.a).state(), QpState::kErr);
  EXPECT_EQ(a.qp(other.a).state(), QpState::kRts);
  EXPECT_EQ(a.count(TransportCounter::kRxTerminate), 1U);
  EXPECT_EQ(a.count(TransportCounter::kCellDropState), 1U);
}

TEST_F(FailedRegistration, S002_34_a_combined_one_that_fails_sends_nothing) {
  const QpPair qp = pair_.connect(registering());
  ASSERT_TRUE(pair_.a().post_recv(qp.a, {inbox_.sge()}));
  ASSERT_TRUE(post_register_send(pair_.b(), qp.b, pages_.region(), {from_.sge()}, 0, 1));
  ASSERT_TRUE(completes(1));
  EXPECT_EQ(pair_.b().sent[0].status, S::kRegisterSpace);
  EXPECT_EQ(state_b(qp.b), QpState::kSqd);
  ASSERT_TRUE(pair_.b().adapter->resume_sq(qp.b));
  std::vector<std::byte> span(100);
  ASSERT_TRUE(post_register_send(pair_.b(), qp.b, span_region(span), {from_.sge(0, 16)}, 0, 2));
  ASSERT_TRUE(completes(2));
  EXPECT_EQ(pair_.b().sent[1].status, S::kSuccess);
  ASSERT_EQ(pair_.a().received.size(), 1U) << "of the second only";
  EXPECT_EQ(pair_.a().received[0].bytes, 16U);
}

}  // namespace splitnic::fabric::testing::registration_failure_test
