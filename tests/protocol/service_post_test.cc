// Service x operation on the side that posts: what a queue pair takes, what it refuses, and that a
// refused request puts nothing on the wire. tests/protocol/service_test.cc has the receiving side.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::service_post_test {

using namespace std::chrono_literals;

struct Posted {
  Service service;
  WrOp op;
  bool is_taken;
};

class PostMatrix : public ::testing::TestWithParam<Posted> {};

TEST_P(PostMatrix, S004_02_operations_that_a_service_sends) {
  const auto [service, op, is_taken] = GetParam();
  AdapterPair pair;
  QpInit init = reading(4);
  init.service = service;
  const QpPair qp = service == Service::kUd ? QpPair{pair.make_ud(pair.a()), pair.make_ud(pair.b())}
                                            : pair.connect(init);
  Memory& to = pair.a().memory(64, 2);
  Memory& from = pair.b().memory(64, 3);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  pair.b().tap.is_recording = true;
  SendWr wr;
  wr.op = op;
  const std::vector<Sge> pieces{from.sge(0, 8)};
  wr.gather = pieces;
  wr.remote_address = to.start;
  wr.remote_handle = to.handle;
  wr.dereg = to.handle;
  wr.destination_lid = pair.b().link().remote_lid();
  wr.destination_qpn = qp.a;
  EXPECT_EQ(pair.b().adapter->post_send(qp.b, wr).has_value(), is_taken);
  pair.run_for(1ms);
  const auto requests = std::ranges::count_if(
      pair.b().tap.cells, [](const auto& c) { return c.sent && c.header().op != Op::kAck; });
  EXPECT_EQ(requests, is_taken ? 1 : 0);
  EXPECT_EQ(pair.b().sent.size(), is_taken ? 1U : 0U);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kRts);
}

INSTANTIATE_TEST_SUITE_P(
    All, PostMatrix,
    ::testing::Values(
        Posted{Service::kRc, WrOp::kSend, true}, Posted{Service::kRc, WrOp::kRdmaWrite, true},
        Posted{Service::kRc, WrOp::kRdmaRead, true}, Posted{Service::kRc, WrOp::kFetchOp, true},
        Posted{Service::kUc, WrOp::kSend, true}, Posted{Service::kUc, WrOp::kRdmaWrite, true},
        Posted{Service::kUc, WrOp::kRdmaRead, false}, Posted{Service::kUc, WrOp::kFetchOp, false},
        Posted{Service::kUc, WrOp::kSendDereg, false}, Posted{Service::kUd, WrOp::kSend, true},
        Posted{Service::kUd, WrOp::kRdmaWrite, false}, Posted{Service::kUd, WrOp::kRdmaRead, false},
        Posted{Service::kUd, WrOp::kFetchOp, false}, Posted{Service::kUd, WrOp::kSendDereg, false}),
    [](const auto& test) {
      return std::string(name(test.param.service)) + "_" +
             std::to_string(static_cast<int>(test.param.op));
    });

TEST(ServicePostTest, S004_02_no_queue_pair_of_another_service_can_be_made) {
  AdapterPair pair;
  const std::size_t before = pair.a().adapter->qp_count();
  QpInit init;
  init.common.pd = pair.a().pd;
  init.common.send_cq = pair.a().send_cq;
  init.common.recv_cq = pair.a().recv_cq;
  for (const Service service : {Service::kStream, Service::kIscsi, Service::kMgmt}) {
    init.service = service;
    EXPECT_FALSE(pair.a().adapter->create_qp(init, pair.now())) << name(service);
  }
  EXPECT_EQ(pair.a().adapter->qp_count(), before);
}

}  // namespace splitnic::fabric::testing::service_post_test
