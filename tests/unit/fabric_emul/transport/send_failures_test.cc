// Failures of work requests by number: which one holds, when it takes effect, which fault it sets
// on each service, and with which status a flush completes it.
#include "fabric_emul/transport/send_failures.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric::testing::send_failures_test {

using S = WcStatus;

class SendFailuresTest : public mrwt_fixture::MrwtTest {
 protected:
  base::Counters<TransportCounter> counters_;
  CompletionQueue send_cq_{4};
  CompletionQueue recv_cq_{4};
  QpContext context_{
      .mrwt = table_, .counters = counters_, .send_cq = send_cq_, .recv_cq = recv_cq_};
  SendFailures failures_{context_};
};

TEST_F(SendFailuresTest, one_takes_effect_when_those_before_it_are_complete) {
  failures_.fail_at(5, S::kRemoteAccess);
  EXPECT_TRUE(failures_.is_pending());
  EXPECT_FALSE(failures_.is_due(4));
  EXPECT_TRUE(failures_.is_due(5));
  EXPECT_FALSE(context_.fault) << "not before";
  const SendFailure failure = failures_.take();
  EXPECT_EQ(failure.no, 5U);
  EXPECT_EQ(failure.status, S::kRemoteAccess);
  EXPECT_FALSE(failure.drains);
  EXPECT_FALSE(failures_.is_pending());
  EXPECT_FALSE(failures_.is_due(5)) << "once";
}

TEST_F(SendFailuresTest, that_of_the_oldest_work_request_holds) {
  failures_.fail_at(5, S::kRemoteAccess);
  failures_.fail_at(5, S::kRemoteInvalid);
  failures_.fail_at(6, S::kRemoteInvalid);
  EXPECT_TRUE(failures_.is_due(5));
  failures_.fail_at(3, S::kBadResponse);
  EXPECT_FALSE(failures_.is_due(5));
  EXPECT_TRUE(failures_.is_due(3));
  EXPECT_EQ(failures_.take().status, S::kBadResponse);
}

TEST_F(SendFailuresTest, what_is_behind_it_sends_nothing) {
  EXPECT_FALSE(failures_.stops(0));
  failures_.fail_at(5, S::kRemoteAccess);
  EXPECT_FALSE(failures_.stops(4));
  EXPECT_TRUE(failures_.stops(5));
  EXPECT_TRUE(failures_.stops(6));
  failures_.take();
  EXPECT_FALSE(failures_.stops(6));
}

TEST_F(SendFailuresTest, S002_32_a_send_queue_that_drains_leaves_the_queue_pair) {
  failures_.fail_at(5, S::kRemoteAccess);
  failures_.drain_at(7, S::kRegisterSpace);
  EXPECT_TRUE(context_.has_drain_fault);
  EXPECT_FALSE(context_.fault);
  EXPECT_FALSE(failures_.is_due(5));
  const SendFailure failure = failures_.take();
  EXPECT_EQ(failure.no, 7U);
  EXPECT_EQ(failure.status, S::kRegisterSpace);
  EXPECT_TRUE(failure.drains);
}

TEST_F(SendFailuresTest, a_flush_reports_the_work_request_that_ended_the_queue_pair) {
  EXPECT_EQ(failures_.flushed_status(2), S::kFlushed);
  failures_.end_queue_pair(2, S::kRegisterSpace);
  EXPECT_EQ(context_.fault, S::kRegisterSpace);
  EXPECT_FALSE(context_.has_send_fault);
  EXPECT_FALSE(failures_.is_pending()) << "it has taken effect";
  EXPECT_EQ(failures_.flushed_status(1), S::kFlushed);
  EXPECT_EQ(failures_.flushed_status(2), S::kRegisterSpace);
  EXPECT_EQ(failures_.flushed_status(3), S::kFlushed);
}

TEST_F(SendFailuresTest, a_flush_reports_the_work_request_that_ended_the_send_queue) {
  failures_.end_send_queue(2, S::kLocalLength);
  EXPECT_TRUE(context_.has_send_fault);
  EXPECT_FALSE(context_.fault);
  EXPECT_EQ(failures_.flushed_status(2), S::kLocalLength);
}

TEST_F(SendFailuresTest, S002_19_bad_local_memory_ends_the_queue_pair_of_rc_and_else_its_sends) {
  for (const Service service : {Service::kRc, Service::kUc, Service::kUd, Service::kRaw}) {
    context_.service = service;
    context_.fault.reset();
    context_.has_send_fault = false;
    failures_.fail_local_access(4);
    const bool is_rc = service == Service::kRc;
    EXPECT_EQ(context_.fault.has_value(), is_rc) << name(service);
    EXPECT_EQ(context_.has_send_fault, !is_rc) << name(service);
    EXPECT_EQ(failures_.flushed_status(4), S::kLocalProtection) << name(service);
  }
}

TEST_F(SendFailuresTest, nothing_is_left_behind_a_flush) {
  failures_.fail_at(5, S::kRemoteAccess);
  failures_.end_send_queue(2, S::kLocalLength);
  failures_.clear();
  EXPECT_FALSE(failures_.is_pending());
  EXPECT_FALSE(failures_.stops(5));
  EXPECT_EQ(failures_.flushed_status(2), S::kFlushed);
}

}  // namespace splitnic::fabric::testing::send_failures_test
