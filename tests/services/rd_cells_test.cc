// Messages of several cells on RD between nodes: they arrive whole and once, and one that ends in
// its middle leaves nothing behind.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::rd_cells_test {

using namespace std::chrono_literals;

constexpr std::uint32_t kLong = 1 << 20;

EeInit long_messages() {
  EeInit init;
  init.message_max = kLong;
  return init;
}

// Two nodes: one sends to a queue pair of the other.
class RdCellsTest : public ::testing::Test {
 protected:
  std::size_t mcp() { return mesh_.context(0, 1).mcp(); }
  void post_receive(std::size_t cells, std::uint64_t wr_id = 7) {
    Memory& room = mesh_.node(1).memory(cells * mcp());
    rooms_[wr_id] = &room;
    ASSERT_TRUE(mesh_.node(1).adapter.post_recv(to_, RecvWr{wr_id, std::array{room.sge()}}));
  }
  // The first cells of a message of 100 arrive, and no reply to them.
  void begin_message() {
    message_ = &mesh_.node(0).memory(100 * mcp(), 3);
    mesh_.node(0).faults.set_config({.loss_ppm = 1'000'000});
    ASSERT_TRUE(mesh_.send(0, from_, 1, to_, {message_->sge()}));
    ASSERT_TRUE(mesh_.run_until([&] { return posted() == 0; }));
    ASSERT_TRUE(received().empty());
  }
  void end_faults() { mesh_.node(0).faults.set_config({}); }
  std::size_t posted() { return mesh_.node(1).adapter.find_qp(to_)->responder().posted(); }
  std::vector<Wc>& sent() { return mesh_.node(0).sent; }
  std::vector<Wc>& received() { return mesh_.node(1).received; }
  // A short message from another queue pair gets the receive that the long one has left.
  void expect_receive_is_left() {
    const Qpn other = mesh_.make(0);
    const std::size_t before = sent().size();
    Memory& small = mesh_.node(0).memory(10, 5);
    ASSERT_TRUE(mesh_.send(0, other, 1, to_, {small.sge()}));
    ASSERT_TRUE(mesh_.run_until([&] { return sent().size() > before; }));
    ASSERT_EQ(received().size(), 1U);
    EXPECT_EQ(received()[0].status, WcStatus::kSuccess);
    EXPECT_EQ(received()[0].wr_id, 7U);
    EXPECT_EQ(received()[0].bytes, 10U);
    EXPECT_EQ(received()[0].source_qpn, other);
    EXPECT_EQ(sent().back().status, WcStatus::kSuccess);
    EXPECT_TRUE(std::ranges::equal(small.bytes, std::span(rooms_[7]->bytes).first(10)));
  }

  RdMesh mesh_{2, long_messages()};
  Qpn from_ = mesh_.make(0), to_ = mesh_.make(1);
  std::map<std::uint64_t, Memory*> rooms_;
  Memory* message_ = nullptr;
};

TEST_F(RdCellsTest, S000_12_X_10_a_send_of_several_cells_arrives_whole) {
  std::uint64_t wr_id = 1;
  for (const std::size_t bytes :
       {mcp() + 1, 2 * mcp(), 40 * mcp(), 40 * mcp() + 1, std::size_t{kLong}}) {
    SCOPED_TRACE(bytes);
    post_receive(bytes / mcp() + 1, wr_id);
    Memory& message = mesh_.node(0).memory(bytes, wr_id);
    SendWr wr;
    wr.idata = static_cast<std::uint32_t>(bytes);
    ASSERT_TRUE(mesh_.send(0, from_, 1, to_, {message.sge(0, 7), message.sge(7)}, wr));
    ASSERT_TRUE(mesh_.run_until([&] { return sent().size() == wr_id; }));
    EXPECT_EQ(sent().back().status, WcStatus::kSuccess);
    ASSERT_EQ(received().size(), wr_id);
    const Wc& wc = received().back();
    EXPECT_EQ(wc.status, WcStatus::kSuccess);
    EXPECT_EQ(wc.wr_id, wr_id);
    EXPECT_EQ(wc.bytes, bytes);
    EXPECT_EQ(wc.idata, bytes);
    EXPECT_EQ(wc.source_qpn, from_);
    EXPECT_EQ(wc.source_ee, mesh_.ee(1, 0));
    EXPECT_TRUE(std::ranges::equal(message.bytes, std::span(rooms_[wr_id]->bytes).first(bytes)));
    ++wr_id;
  }
  EXPECT_EQ(mesh_.count(0, TransportCounter::kTxRetransmit), 0U);
}

TEST_F(RdCellsTest, S002_35_X_10_a_send_with_deregister_ends_the_region_at_its_last_cell) {
  QpInit init = mesh_.node(1).init(Service::kRd);
  init.common.takes_dereg = true;
  to_ = mesh_.make(1, init);
  post_receive(5);
  Memory& ended = mesh_.node(1).memory(8);
  SendWr wr;
  wr.op = WrOp::kSendDereg;
  wr.dereg = ended.handle;
  Memory& message = mesh_.node(0).memory(5 * mcp(), 3);
  ASSERT_TRUE(mesh_.send(0, from_, 1, to_, {message.sge()}, wr));
  ASSERT_TRUE(mesh_.run_until([&] { return !sent().empty(); }));
  EXPECT_EQ(sent()[0].status, WcStatus::kSuccess);
  ASSERT_EQ(received().size(), 1U);
  EXPECT_EQ(received()[0].ended, ended.handle);
  EXPECT_EQ(mesh_.node(1).adapter.memory().entry(ended.handle), nullptr);
}

// Each direction has the length that its receiver has stated.
TEST_F(RdCellsTest, X_10_P_RD_16_a_longer_message_than_the_other_end_takes_is_refused) {
  EeInit some;
  some.message_max = static_cast<std::uint32_t>(3 * mcp());
  mesh_.connect(0, 1, {}, some);
  const auto refused = [&](std::size_t from, Qpn qpn, std::size_t bytes, WrOp op) {
    SendWr wr;
    wr.op = op;
    Memory& memory = mesh_.node(from).memory(bytes);
    const base::Status posted =
        mesh_.send(from, qpn, 1 - from, from == 0 ? to_ : from_, {memory.sge()}, wr);
    return !posted.has_value() && posted.error().errno_value() == EMSGSIZE;
  };
  EXPECT_FALSE(refused(0, from_, 3 * mcp(), WrOp::kSend));
  EXPECT_TRUE(refused(0, from_, 3 * mcp() + 1, WrOp::kSend));
  EXPECT_FALSE(refused(1, to_, mcp(), WrOp::kSend));
  EXPECT_TRUE(refused(1, to_, mcp() + 1, WrOp::kSend)) << "one cell by default";
  EXPECT_TRUE(refused(0, from_, mcp() + 1, WrOp::kRdmaWrite)) << "the format has one cell";
  EXPECT_TRUE(refused(0, from_, mcp() + 1, WrOp::kRdmaRead));
  EXPECT_FALSE(
      mesh_.node(0).adapter.contexts().create({.message_max = (std::uint32_t{1} << 31) + 1}));
}

TEST_F(RdCellsTest, S000_12_a_long_message_waits_for_a_receive) {
  Memory& message = mesh_.node(0).memory(40 * mcp(), 3);
  ASSERT_TRUE(mesh_.send(0, from_, 1, to_, {message.sge()}));
  mesh_.run_for(2ms);
  EXPECT_GT(mesh_.count(0, TransportCounter::kRnrSeen), 1U);
  EXPECT_TRUE(sent().empty());
  post_receive(40);
  ASSERT_TRUE(mesh_.run_until([&] { return !sent().empty(); }));
  EXPECT_EQ(sent()[0].status, WcStatus::kSuccess);
  EXPECT_EQ(rooms_[7]->bytes, message.bytes);
}

TEST_F(RdCellsTest, S000_08_P_RD_21_a_send_that_is_longer_than_its_receive_ends_with_it) {
  post_receive(2);
  post_receive(2, 8);
  Memory& message = mesh_.node(0).memory(5 * mcp(), 3);
  ASSERT_TRUE(mesh_.send(0, from_, 1, to_, {message.sge()}));
  ASSERT_TRUE(mesh_.run_until([&] { return !sent().empty(); }));
  EXPECT_EQ(sent()[0].status, WcStatus::kRemoteInvalid);
  ASSERT_EQ(received().size(), 1U);
  EXPECT_EQ(received()[0].wr_id, 7U);
  EXPECT_EQ(received()[0].status, WcStatus::kLocalLength);
  EXPECT_EQ(posted(), 1U);
  EXPECT_EQ(mesh_.state(0, from_), QpState::kSqe);
  EXPECT_EQ(mesh_.state(1, to_), QpState::kRts);
}

// Both messages are in their middle at a time, and each fills its own receive.
TEST(RdCellsOfTwoNodes, S000_12_P_RD_21_messages_of_two_contexts_do_not_mix) {
  RdMesh mesh(3, long_messages());
  const Qpn to = mesh.make(2);
  const std::size_t bytes = std::size_t{100} * mesh.context(0, 2).mcp();
  std::array<Memory*, 2> rooms{};
  std::array<Memory*, 2> messages{};
  for (std::size_t i = 0; i < 2; ++i) {
    rooms[i] = &mesh.node(2).memory(bytes);
    ASSERT_TRUE(mesh.node(2).adapter.post_recv(to, RecvWr{i, std::array{rooms[i]->sge()}}));
    messages[i] = &mesh.node(i).memory(bytes, i + 3);
    ASSERT_TRUE(mesh.send(i, mesh.make(i), 2, to, {messages[i]->sge()}));
  }
  const Qp& target = *mesh.node(2).adapter.find_qp(to);
  ASSERT_TRUE(mesh.run_until([&] { return target.responder().posted() == 0; }));
  EXPECT_TRUE(mesh.node(2).received.empty()) << "neither is whole";
  ASSERT_TRUE(mesh.run_until([&] { return mesh.node(2).received.size() == 2; }));
  for (const Wc& wc : mesh.node(2).received) {
    EXPECT_EQ(wc.status, WcStatus::kSuccess);
    EXPECT_EQ(wc.bytes, bytes);
    const std::size_t from = wc.source_ee == mesh.ee(2, 0) ? 0 : 1;
    EXPECT_EQ(rooms.at(wc.wr_id)->bytes, messages.at(from)->bytes);
  }
}

TEST_F(RdCellsTest, S000_12_P_RD_12_a_sender_that_is_destroyed_in_mid_message_leaves_the_receive) {
  post_receive(100);
  begin_message();
  mesh_.node(0).adapter.destroy_qp(from_, mesh_.now());
  end_faults();
  expect_receive_is_left();
  ASSERT_TRUE(mesh_.run_until([&] { return mesh_.context(0, 1).in_flight() == 0; }));
}

TEST_F(RdCellsTest, S002_19_memory_that_goes_in_mid_message_ends_the_send_queue_alone) {
  post_receive(100);
  begin_message();
  static_cast<void>(mesh_.node(0).adapter.memory().regions().deregister(message_->handle));
  end_faults();
  ASSERT_TRUE(mesh_.run_until([&] { return !sent().empty(); }));
  EXPECT_EQ(sent()[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(mesh_.state(0, from_), QpState::kSqe);
  expect_receive_is_left();
}

TEST_F(RdCellsTest, S000_12_a_receiver_that_ends_in_mid_message_flushes_its_receives_in_order) {
  post_receive(100);
  begin_message();
  post_receive(1, 8);
  ASSERT_TRUE(mesh_.node(1).adapter.modify_qp(to_, QpState::kErr, 0, {}));
  end_faults();
  ASSERT_TRUE(mesh_.run_until([&] { return !sent().empty(); }));
  EXPECT_EQ(sent()[0].status, WcStatus::kRemoteInvalid);
  ASSERT_EQ(received().size(), 2U);
  EXPECT_EQ(received()[0].wr_id, 7U);
  EXPECT_EQ(received()[0].status, WcStatus::kFlushed);
  EXPECT_EQ(received()[1].wr_id, 8U);
}

TEST_F(RdCellsTest, S000_12_a_receiver_that_is_destroyed_in_mid_message_refuses_the_rest) {
  post_receive(100);
  begin_message();
  mesh_.node(1).adapter.destroy_qp(to_, mesh_.now());
  end_faults();
  ASSERT_TRUE(mesh_.run_until([&] { return !sent().empty(); }));
  EXPECT_EQ(sent()[0].status, WcStatus::kRemoteInvalid);
  EXPECT_TRUE(mesh_.context(0, 1).is_ready());
}

TEST_F(RdCellsTest, S000_12_a_context_that_ends_in_mid_message_leaves_the_receive) {
  post_receive(100);
  begin_message();
  mesh_.node(1).adapter.contexts().destroy(mesh_.ee(1, 0));
  EXPECT_EQ(posted(), 1U);
  EXPECT_TRUE(received().empty());
}

}  // namespace splitnic::fabric::testing::rd_cells_test
