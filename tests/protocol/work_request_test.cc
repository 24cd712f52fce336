// Posts and completions: lists of pieces, local checks, order, errors in mid-queue.
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <type_traits>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing::work_request_test {

using namespace std::chrono_literals;

// Whether Adapter::post_recv() takes one.
template <class Wr>
constexpr bool kIsReceived =
    std::is_invocable_v<decltype(&Adapter::post_recv), Adapter&, Qpn, const Wr&>;
static_assert(kIsReceived<RecvWr>);

TEST(WorkRequestTest, S000_03_X_36_four_odd_pieces_arrive_as_one) {
  static_assert(!kIsReceived<SendWr>, "the receive queue holds receives only");
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& one = pair.b().memory(5000, 1);
  Memory& two = pair.b().memory(5000, 2);
  Memory& to = pair.a().memory(8000);
  const std::vector<Sge> pieces{one.sge(3, 1), two.sge(7, 2999), one.sge(1000, 1367),
                                two.sge(4001, 13)};
  std::vector<std::byte> expected;
  for (const Sge& piece : pieces) {
    Memory& m = piece.lkey == one.handle ? one : two;
    const auto at =
        m.bytes.begin() + static_cast<std::ptrdiff_t>(piece.address.value - m.start.value);
    expected.insert(expected.end(), at, at + piece.length);
  }
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge(0, 11), to.sge(11, 5000)}));
  ASSERT_TRUE(pair.b().post_send(qp.b, pieces));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a().received.empty(); }));
  EXPECT_EQ(pair.a().received[0].bytes, 4380U);
  EXPECT_EQ(pair.a().received[0].op, WcOp::kReceive);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.bytes.begin()));

  to.clear();
  ASSERT_TRUE(pair.b().post_write(qp.b, pieces, to.at(100), to.handle));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 2; }));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.bytes.begin() + 100));
  EXPECT_EQ(pair.a().received.size(), 1U) << "a write without idata is not seen by the other side";
}

TEST(WorkRequestTest, S000_08_a_packet_longer_than_the_scatter_list_is_a_length_error) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(5000);
  Memory& from = pair.b().memory(5000, 1);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge(0, 2000)}, 1));
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge(0, 2000)}, 2));
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge(0, 2001)}));
  ASSERT_TRUE(
      pair.run_until([&] { return pair.a().received.size() == 2 && !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.a().received[0].status, WcStatus::kLocalLength);
  EXPECT_EQ(pair.a().received[0].wr_id, 1U);
  EXPECT_EQ(pair.a().received[1].status, WcStatus::kFlushed);
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteInvalid);
  EXPECT_TRUE(std::all_of(to.bytes.begin() + 2000, to.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

// Two receives are posted, which CONNECT states: two Sends go, and one more to learn of new ones.
TEST(WorkRequestTest, X_43_sends_wait_for_receive_credits) {
  AdapterPair pair;
  Memory& to = pair.a().memory(800);
  pair.a().prepare = [&](End& end, Qpn qpn) {
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(end.post_recv(qpn, {to.sge(100 * i, 100)}, i));
    }
  };
  const QpPair qp = pair.connect(QpInit{});
  Memory& from = pair.b().memory(800, 1);
  pair.b().tap.is_recording = true;
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge(100 * i, 100)}, i));
  }
  pair.run_for(1ms);
  std::set<std::uint32_t> packets;
  for (const TappedCell& cell : pair.b().tap.cells) {
    if (cell.sent && cell.header().op == Op::kSend) packets.insert(cell.header().psn.value);
  }
  EXPECT_EQ(packets.size(), 3U);
  EXPECT_EQ(pair.b().sent.size(), 2U);
  for (std::size_t i = 2; i < 8; ++i) {
    ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge(100 * i, 100)}, i));
  }
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 8; }));
  EXPECT_EQ(to.bytes, from.bytes);
}

// Typical I/O: the command by Send, the data by RDMA, the status by Send.
TEST(WorkRequestTest, S000_09_command_data_and_status) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& command = pair.b().memory(64, 1);
  Memory& room = pair.b().memory(100'000);
  Memory& status = pair.b().memory(16);
  Memory& at_disk = pair.a().memory(64);
  Memory& disk = pair.a().memory(100'000, 9);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {at_disk.sge()}));
  ASSERT_TRUE(pair.b().post_recv(qp.b, {status.sge()}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {command.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a().received.empty(); }));
  EXPECT_EQ(at_disk.bytes, command.bytes);
  ASSERT_TRUE(pair.a().post_write(qp.a, {disk.sge()}, room.start, room.handle));
  ASSERT_TRUE(pair.a().post_send(qp.a, {at_disk.sge(0, 16)}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().received.empty(); }));
  EXPECT_EQ(room.bytes, disk.bytes) << "the data is there before the status";
  EXPECT_EQ(pair.b().received.size(), 1U);
}

// A gather list of memory that this queue pair may not use.
void expect_local_protection(const std::function<Sge(AdapterPair&)>& bad) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(200);
  Memory& from = pair.b().memory(200, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge(0, 100)}, to.start, to.handle, 1));
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge(0, 50), bad(pair)}, to.at(100), to.handle, 2));
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 3));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 3; }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.b().sent[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.b().sent[1].wr_id, 2U);
  EXPECT_EQ(pair.b().sent[2].status, WcStatus::kFlushed);
  EXPECT_TRUE(std::all_of(to.bytes.begin() + 100, to.bytes.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
}

TEST(WorkRequestTest, S000_10_S002_19_memory_of_another_domain) {
  expect_local_protection([](AdapterPair& pair) {
    static std::vector<std::byte> other(50);
    Adapter& adapter = *pair.b().adapter;
    const PdId pd = adapter.alloc_pd();
    const MemoryHandle handle =
        adapter.memory().regions().register_region(pd, other, kAccessRights).value();
    return Sge{adapter.memory().start_of(handle), 50, handle};
  });
}
TEST(WorkRequestTest, S002_19_memory_that_is_not_registered) {
  expect_local_protection([](AdapterPair&) {
    return Sge{VirtualAddress(4096), 50, MemoryHandle(0x12345678)};
  });
}
TEST(WorkRequestTest, S002_19_memory_past_its_end) {
  expect_local_protection([](AdapterPair& pair) {
    Memory& m = pair.b().memory(50);
    return Sge{m.at(1), 50, m.handle};
  });
}
TEST(WorkRequestTest, S002_19_memory_without_the_right) {
  expect_local_protection(
      [](AdapterPair& pair) { return pair.b().memory(50, 0, kLocalWrite | kRemoteWrite).sge(); });
}

TEST(WorkRequestTest, S002_19_a_scatter_list_that_is_not_allowed) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& read_only = pair.a().memory(100, 0, kLocalRead);
  Memory& from = pair.b().memory(100, 1);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {read_only.sge()}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  ASSERT_EQ(pair.a().received.size(), 1U);
  EXPECT_EQ(pair.a().received[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteOperational);
  EXPECT_TRUE(read_only.is_zero());
}

// On an unacknowledged service only the send queue stops, and a modify restarts it.
TEST(WorkRequestTest, S002_19_uc_goes_to_sqe_and_back) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.service = Service::kUc});
  Memory& to = pair.a().memory(100);
  Memory& from = pair.b().memory(100, 1);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {Sge{from.at(1), 100, from.handle}}, 1));
  pair.run_for(1ms);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kSqe);
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}, 2));
  pair.run_for(1ms);
  ASSERT_EQ(pair.b().sent.size(), 2U);
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.b().sent[1].status, WcStatus::kFlushed);
  ASSERT_TRUE(pair.b().adapter->modify_qp(qp.b, QpState::kRts, 0, QpAttr{}));
  ASSERT_TRUE(pair.b().post_send(qp.b, {from.sge()}, 3));
  pair.run_for(1ms);
  EXPECT_EQ(pair.b().sent.back().status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST(WorkRequestTest, S001_44_memory_that_goes_in_mid_packet_stops_the_packet) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.window_bytes_max = 64 * 1024});
  Memory& to = pair.a().memory(1 << 20);
  Memory& from = pair.b().memory(1 << 20, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 1));
  for (int i = 0; i < 4; ++i) pair.step();
  ASSERT_TRUE(pair.b().sent.empty());
  ASSERT_TRUE(pair.b().adapter->memory().regions().deregister(from.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
}

TEST(WorkRequestTest, T_14_a_refused_modify_changes_nothing) {
  AdapterPair pair;
  for (const Service service : {Service::kRc, Service::kUc}) {
    const QpPair qp = pair.connect({.service = service});
    const Qp& it = pair.a().qp(qp.a);
    const QpAttr before = it.attr();
    QpAttr other = before;
    other.rights = 0;
    other.min_rnr_timer = 77;
    other.remote_qpn = Qpn(5);
    for (std::size_t to = 0; to < kQpStates; ++to) {
      const auto state = static_cast<QpState>(to);
      // Everything at once is more than any change takes.
      EXPECT_FALSE(pair.a().adapter->modify_qp(qp.a, state, kAllAttrs, other));
      if (!is_legal(QpState::kRts, state)) {
        const auto refused = pair.a().adapter->modify_qp(qp.a, state, 0, other);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().errno_value(), EINVAL);
      }
      EXPECT_EQ(it.state(), QpState::kRts);
      EXPECT_EQ(it.attr().rights, before.rights);
      EXPECT_EQ(it.attr().min_rnr_timer, before.min_rnr_timer);
      EXPECT_EQ(it.attr().remote_qpn, before.remote_qpn);
    }
  }
}

TEST(WorkRequestTest, T_15_posts_that_are_refused) {
  AdapterPair pair;
  End& b = pair.b();
  Memory& m = b.memory(100, 1);
  QpInit init;
  init.common.pd = b.pd;
  init.common.send_cq = b.send_cq;
  init.common.recv_cq = b.recv_cq;
  init.common.send_depth = init.common.receive_depth = 3;
  const Qpn qpn = b.adapter->create_qp(init, pair.now()).value();
  const auto send = [&] { return b.post_send(qpn, {m.sge()}); };
  EXPECT_EQ(b.post_recv(qpn).error().errno_value(), EINVAL);  // RESET
  EXPECT_EQ(send().error().errno_value(), EINVAL);
  ASSERT_TRUE(b.adapter->prepare_qp(qpn));  // INIT
  EXPECT_EQ(send().error().errno_value(), EINVAL);
  EXPECT_TRUE(b.post_recv(qpn));
  QpAttr attr;
  attr.remote_lid = b.link().remote_lid();
  attr.remote_qpn = Qpn(1000);
  attr.mcp = b.link().mcp();
  ASSERT_TRUE(b.adapter->modify_qp(
      qpn, QpState::kRtr, required_attributes(Service::kRc, QpState::kInit, QpState::kRtr), attr));
  EXPECT_EQ(send().error().errno_value(), EINVAL);  // RTR
  EXPECT_TRUE(b.post_recv(qpn));
  EXPECT_TRUE(b.post_recv(qpn));
  EXPECT_EQ(b.post_recv(qpn).error().errno_value(), ENOMEM);
  ASSERT_TRUE(b.adapter->modify_qp(
      qpn, QpState::kRts, required_attributes(Service::kRc, QpState::kRtr, QpState::kRts), attr));
  const std::vector<Sge> five(5, m.sge(0, 1));
  EXPECT_EQ(b.post_send(qpn, five).error().errno_value(), EINVAL);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(send());
  EXPECT_EQ(send().error().errno_value(), ENOMEM);
  ASSERT_TRUE(b.adapter->modify_qp(qpn, QpState::kErr, 0, attr));
  EXPECT_TRUE(send()) << "in ERR a post is taken and flushed";
  EXPECT_TRUE(b.post_recv(qpn, {m.sge()}, 77));
  b.drain();
  EXPECT_EQ(b.sent.size(), 4U);
  EXPECT_EQ(b.received.size(), 4U);
  EXPECT_EQ(b.received.back().wr_id, 77U);
  EXPECT_EQ(b.received.back().status, WcStatus::kFlushed);
}

class ErrorAt : public ::testing::TestWithParam<std::pair<unsigned, unsigned>> {};

// Of n work requests the k-th (from 1) is refused by the peer.
TEST_P(ErrorAt, T_16_before_it_success_behind_it_flushed) {
  const auto [k, n] = GetParam();
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(4000);
  Memory& from = pair.b().memory(4000, 1);
  for (unsigned i = 0; i < 5; ++i) ASSERT_TRUE(pair.a().post_recv(qp.a, {to.sge()}, i));
  for (unsigned i = 1; i <= n; ++i) {
    const MemoryHandle handle = i == k ? MemoryHandle(0xDEAD) : to.handle;
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, handle, i));
  }
  ASSERT_TRUE(pair.run_until([&, all = n] { return pair.b().sent.size() >= all; }));
  pair.run_for(1ms);
  ASSERT_EQ(pair.b().sent.size(), n) << "each exactly once";
  for (unsigned i = 1; i <= n; ++i) {
    EXPECT_EQ(pair.b().sent[i - 1].wr_id, i);
    EXPECT_EQ(pair.b().sent[i - 1].status, i < k    ? WcStatus::kSuccess
                                           : i == k ? WcStatus::kRemoteAccess
                                                    : WcStatus::kFlushed);
  }
  ASSERT_EQ(pair.a().received.size(), 5U);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(pair.a().received[i].wr_id, i);
    EXPECT_EQ(pair.a().received[i].status, WcStatus::kFlushed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ErrorAt,
                         ::testing::Values(std::pair{1U, 1U}, std::pair{1U, 64U}, std::pair{2U, 3U},
                                           std::pair{32U, 64U}, std::pair{63U, 64U},
                                           std::pair{64U, 64U}));

// SQD: what was begun is finished, losses and all; nothing new starts until RTS.
TEST(WorkRequestTest, T_26_a_drained_queue_continues_where_it_was) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.window_bytes_max = 64 * 1024});
  Memory& to = pair.a().memory(300'000);
  Memory& from = pair.b().memory(300'000, 1);
  FaultConfig loss;
  loss.loss_ppm = 50'000;
  pair.a().faults.set_config(loss);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, i));
  }
  pair.step();
  ASSERT_TRUE(pair.b().adapter->modify_qp(qp.b, QpState::kSqd, 0, QpAttr{}));
  pair.run_for(1s);
  const std::size_t drained = pair.b().sent.size();
  EXPECT_EQ(drained, 1U);
  EXPECT_LE(pair.idle_steps_with_past_deadline, 3);
  ASSERT_TRUE(pair.b().adapter->modify_qp(qp.b, QpState::kRts, 0, QpAttr{}));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 4; }));
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pair.b().sent[i].wr_id, i);
    EXPECT_EQ(pair.b().sent[i].status, WcStatus::kSuccess);
  }
  EXPECT_EQ(to.bytes, from.bytes);
}

}  // namespace splitnic::fabric::testing::work_request_test
