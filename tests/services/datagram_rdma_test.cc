// RDMA on queue pairs of the datagram services: any node that has the key may write.
#include <gtest/gtest.h>

#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::datagram_rdma_test {

using namespace std::chrono_literals;

class DatagramRdmaTest : public ::testing::TestWithParam<Service> {
 protected:
  Qpn make(std::size_t at, bool accepts_rdma = true) {
    QpInit init = mesh_.node(at).init(GetParam());
    init.has_datagram_rdma = true;
    init.accepts_rdma = accepts_rdma;
    return mesh_.make(at, init);
  }
  base::Status write(std::size_t from, Qpn qpn, std::size_t to, Qpn destination,
                     MemoryHandle handle, std::optional<std::uint32_t> idata = {}) {
    SendWr wr;
    wr.op = WrOp::kRdmaWrite;
    wr.remote_address = theirs_.start;
    wr.remote_handle = handle;
    wr.destination_lid = mesh_.node(from).links[to]->remote_lid();
    wr.idata = idata;
    return mesh_.send(from, qpn, to, destination, {mesh_.node(from).memory(64, from + 3).sge()},
                      wr);
  }
  bool is_written(std::size_t by) {
    mesh_.run_for(1ms);
    Memory like;
    like.bytes.resize(64);
    like.fill(by + 3);
    return theirs_.bytes == like.bytes;
  }

  RdMesh mesh_{3};
  Memory& theirs_ = mesh_.node(2).memory(64);
};

TEST_P(DatagramRdmaTest, S000_53_X_28_each_node_that_has_the_key_writes) {
  const Qpn to = make(2);
  for (const std::size_t node : {0U, 1U}) {
    theirs_.clear();
    ASSERT_TRUE(write(node, make(node), 2, to, theirs_.handle));
    EXPECT_TRUE(is_written(node));
  }
  theirs_.clear();
  ASSERT_TRUE(write(1, make(1), 2, to, MemoryHandle(theirs_.handle.value ^ 1)));
  mesh_.run_for(1ms);
  EXPECT_TRUE(theirs_.is_zero()) << "without the key nothing is written";
  EXPECT_EQ(mesh_.count(2, TransportCounter::kDropAccess), 1U);
  EXPECT_EQ(mesh_.state(2, to), QpState::kRts);
  ASSERT_TRUE(write(0, make(0), 2, to, theirs_.handle));
  EXPECT_TRUE(is_written(0)) << "and the others continue";
}

TEST_P(DatagramRdmaTest, S000_53_idata_takes_a_receive_and_names_the_writer) {
  const Qpn to = make(2);
  const Qpn from = make(1);
  ASSERT_TRUE(mesh_.node(2).adapter.post_recv(to, RecvWr{.wr_id = 4, .scatter = {}}));
  ASSERT_TRUE(write(1, from, 2, to, theirs_.handle, 77));
  EXPECT_TRUE(is_written(1));
  ASSERT_EQ(mesh_.node(2).received.size(), 1U);
  EXPECT_EQ(mesh_.node(2).received[0].op, WcOp::kReceiveRdmaIdata);
  EXPECT_EQ(mesh_.node(2).received[0].idata, 77U);
  EXPECT_EQ(mesh_.node(2).received[0].source_qpn, from);
}

TEST_P(DatagramRdmaTest, S000_53_X_28_a_queue_pair_that_accepts_no_rdma_takes_none) {
  const Qpn to = make(2, false);
  ASSERT_TRUE(write(0, make(0), 2, to, theirs_.handle));
  mesh_.run_for(1ms);
  EXPECT_TRUE(theirs_.is_zero());
  EXPECT_EQ(mesh_.state(2, to), QpState::kRts);
  if (GetParam() == Service::kUd) {
    EXPECT_EQ(mesh_.count(2, TransportCounter::kDropAccess), 1U);
  } else {
    EXPECT_EQ(mesh_.node(0).sent[0].status, WcStatus::kRemoteInvalid);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DatagramRdmaTest, ::testing::Values(Service::kUd, Service::kRd),
                         [](const auto& test) { return std::string(name(test.param)); });

// Off by default: neither end may.
TEST(DatagramRdmaDefaultTest, X_28_a_ud_queue_pair_takes_no_rdma_by_default) {
  RdMesh mesh(2);
  Memory& theirs = mesh.node(1).memory(64);
  QpInit init = mesh.node(0).init(Service::kUd);
  const Qpn plain = mesh.make(0, init);
  init.has_datagram_rdma = true;
  const Qpn able = mesh.make(0, init);
  const Qpn to = mesh.make(1, mesh.node(1).init(Service::kUd));
  SendWr wr;
  wr.op = WrOp::kRdmaWrite;
  wr.remote_address = theirs.start;
  wr.remote_handle = theirs.handle;
  wr.destination_lid = mesh.node(0).links[1]->remote_lid();
  const Sge piece = mesh.node(0).memory(64, 3).sge();
  EXPECT_FALSE(mesh.send(0, plain, 1, to, {piece}, wr));
  ASSERT_TRUE(mesh.send(0, able, 1, to, {piece}, wr));
  mesh.run_for(1ms);
  EXPECT_TRUE(theirs.is_zero());
  EXPECT_EQ(mesh.count(1, TransportCounter::kCellDropFormat), 1U);
}

}  // namespace splitnic::fabric::testing::datagram_rdma_test
