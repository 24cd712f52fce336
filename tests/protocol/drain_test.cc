// The send queue that drains (SQD) and the one in error (SQE), under load and back to work; fences.
#include <gtest/gtest.h>

#include "tests/support/reader.h"
#include "tests/support/registrar.h"

namespace splitnic::fabric::testing::drain_test {

using namespace std::chrono_literals;
using S = WcStatus;

base::Status to_state(End& end, Qpn qpn, QpState to) {
  return end.adapter->modify_qp(qpn, to, 0, {});
}

// End b sends numbered messages, and what arrives at end a is looked at.
class Drain : public ::testing::Test {
 protected:
  static constexpr std::size_t kMessage = 5000;
  explicit Drain(std::uint64_t seed = 1) : pair_(options(seed)) {}
  static PairOptions options(std::uint64_t seed) {
    PairOptions options;
    options.seed = seed;
    return options;
  }

  // Message i has its number in front. Every third is an RDMA write, every fifth asks for a read.
  void post(Qpn qpn, std::uint64_t i, bool mixed) {
    Memory& m = pair_.b().memory(mixed ? kMessage : 64, i + 1);
    std::memcpy(m.bytes.data(), &i, sizeof(i));
    if (mixed && i % 3 == 1) {
      ASSERT_TRUE(pair_.b().post_write(qpn, {m.sge()}, target_.start, target_.handle, i,
                                       static_cast<std::uint32_t>(i)));
    } else if (mixed && i % 5 == 0) {
      ASSERT_TRUE(post_read(pair_.b(), qpn, {m.sge(8)}, target_, 0, i));
    } else {
      ASSERT_TRUE(pair_.b().post_send(qpn, {m.sge()}, i, static_cast<std::uint32_t>(i)));
    }
  }
  static bool is_received(std::uint64_t i, bool mixed) {
    return !mixed || i % 3 == 1 || i % 5 != 0;
  }
  void post_receives(Qpn qpn, std::size_t count) {
    Memory& inbox = pair_.a().memory(kMessage);
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(pair_.a().post_recv(qpn, {inbox.sge()}));
  }
  // A pair of UC or UD, with receives at end a. What has completed before is forgotten.
  QpPair make_unreliable(Service service) {
    const QpPair qp = service == Service::kUc
                          ? pair_.connect({.service = service})
                          : QpPair{pair_.make_ud(pair_.a()), pair_.make_ud(pair_.b())};
    post_receives(qp.a, 30);
    pair_.a().received.clear();
    pair_.b().sent.clear();
    return qp;
  }
  Qp& qp_b(Qpn qpn) { return pair_.b().qp(qpn); }
  // Every one once, in order, with success.
  void expect_all(std::uint64_t count, bool mixed) {
    ASSERT_EQ(pair_.b().sent.size(), count);
    std::vector<std::uint32_t> wanted, got;
    for (std::uint64_t i = 0; i < count; ++i) {
      EXPECT_EQ(pair_.b().sent[i].wr_id, i);
      EXPECT_EQ(pair_.b().sent[i].status, S::kSuccess) << i;
      if (is_received(i, mixed)) wanted.push_back(static_cast<std::uint32_t>(i));
    }
    for (const Wc& wc : pair_.a().received) got.push_back(wc.idata);
    EXPECT_EQ(got, wanted);
  }

  AdapterPair pair_;
  Memory& target_ = pair_.a().memory(kMessage, 2);
};

class DrainUnderLoad : public Drain, public ::testing::WithParamInterface<int> {
 protected:
  DrainUnderLoad() : Drain(static_cast<std::uint64_t>(GetParam())) {}

  // To SQD in the middle of work, until it reports that it is drained; nothing is sent meanwhile.
  void drain_and_go_on(Qpn qpn, std::uint64_t& posted) {
    const std::uint64_t events = pair_.b().count(TransportCounter::kQpDrained);
    ASSERT_TRUE(to_state(pair_.b(), qpn, QpState::kSqd));
    post(qpn, posted++, true);
    int notices = 0;
    ASSERT_TRUE(pair_.run_until([&] {
      notices += qp_b(qpn).take_drained() ? 1 : 0;
      return notices > 0;
    }));
    const std::size_t completed = pair_.b().sent.size();
    const std::uint64_t cells = pair_.b().count(TransportCounter::kTxCells);
    EXPECT_EQ(qp_b(qpn).requester().bytes_in_flight(), 0U);
    ASSERT_TRUE(to_state(pair_.b(), qpn, QpState::kSqd)) << "again, which starts nothing";
    pair_.run_for(1s);
    notices += qp_b(qpn).take_drained() ? 1 : 0;
    EXPECT_EQ(notices, 1);
    EXPECT_EQ(pair_.b().count(TransportCounter::kQpDrained), events + 1);
    EXPECT_EQ(pair_.b().sent.size(), completed);
    EXPECT_EQ(pair_.b().count(TransportCounter::kTxCells), cells);
    EXPECT_EQ(qp_b(qpn).requester().queued(), posted - completed) << "what was not begun waits";
    ASSERT_TRUE(to_state(pair_.b(), qpn, QpState::kRts));
  }
};

TEST_P(DrainUnderLoad, T_26_sqd_then_rts_on_rc_loses_nothing_and_keeps_the_order) {
  QpInit init = reading();
  init.max_outstanding = 5;
  init.selective_repeat = GetParam() % 2 == 0;
  const QpPair qp = pair_.connect(init);
  pair_.a().faults.set_config({.loss_ppm = 50'000, .reorder_ppm = 50'000});
  pair_.b().faults.set_config({.loss_ppm = 50'000, .duplicate_ppm = 50'000});
  post_receives(qp.a, 200);
  std::uint64_t posted = 0;
  std::size_t waited = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 20; ++i) post(qp.b, posted++, true);
    pair_.run_for(std::chrono::microseconds(1 + 4 * ((GetParam() * 7 + round) % 5)));
    drain_and_go_on(qp.b, posted);
    waited += posted - pair_.b().sent.size();
  }
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == posted; }));
  expect_all(posted, true);
  EXPECT_GT(waited, 20U) << "the drains came in the middle of work";
}

INSTANTIATE_TEST_SUITE_P(Seeds, DrainUnderLoad, ::testing::Range(1, 9));

TEST_F(Drain, T_26_sqd_then_rts_on_uc_and_ud) {
  for (const Service service : {Service::kUc, Service::kUd}) {
    const QpPair qp = make_unreliable(service);
    const auto post_one = [&](std::uint64_t i) {
      Memory& m = pair_.b().memory(64, i + 1);
      SendWr wr;
      const std::vector<Sge> gather{m.sge()};
      wr.wr_id = i;
      wr.gather = gather;
      wr.idata = static_cast<std::uint32_t>(i);
      wr.destination_lid = pair_.b().link().remote_lid();
      wr.destination_qpn = qp.a;
      ASSERT_TRUE(pair_.b().adapter->post_send(qp.b, wr));
    };
    for (std::uint64_t i = 0; i < 10; ++i) post_one(i);
    ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
    EXPECT_TRUE(qp_b(qp.b).take_drained()) << "nothing was begun";
    for (std::uint64_t i = 10; i < 20; ++i) post_one(i);
    pair_.run_for(1s);
    EXPECT_TRUE(pair_.b().sent.empty());
    EXPECT_FALSE(qp_b(qp.b).take_drained());
    ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kRts));
    ASSERT_TRUE(pair_.run_until([&] { return pair_.a().received.size() == 20; }));
    expect_all(20, false);
  }
}

TEST_F(Drain, T_26_a_ud_queue_in_sqd_drops_nothing_for_want_of_a_link) {
  const Qpn ud = pair_.make_ud(pair_.b());
  Memory& m = pair_.b().memory(8);
  SendWr wr;
  const std::vector<Sge> gather{m.sge()};
  wr.gather = gather;
  wr.destination_lid = Lid(0x7777);
  wr.destination_qpn = Qpn(99);
  ASSERT_TRUE(to_state(pair_.b(), ud, QpState::kSqd));
  ASSERT_TRUE(pair_.b().adapter->post_send(ud, wr));
  pair_.run_for(1ms);
  EXPECT_TRUE(pair_.b().sent.empty());
  ASSERT_TRUE(to_state(pair_.b(), ud, QpState::kRts));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 1; }));
}

TEST_F(Drain, T_26_the_event_comes_once_a_drain_and_not_for_one_that_was_left) {
  const QpPair qp = pair_.connect(QpInit{});
  const auto events = [&] { return pair_.b().count(TransportCounter::kQpDrained); };
  EXPECT_FALSE(qp_b(qp.b).take_drained());
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
  EXPECT_EQ(events(), 1U) << "an idle queue is drained at once";
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kRts));
  EXPECT_EQ(events(), 1U);
  EXPECT_TRUE(qp_b(qp.b).take_drained());
  EXPECT_FALSE(qp_b(qp.b).take_drained());

  // Left before it was drained, by RTS and by ERR.
  for (const QpState to : {QpState::kRts, QpState::kErr}) {
    Memory& m = pair_.b().memory(64);
    ASSERT_TRUE(pair_.b().post_write(qp.b, {m.sge()}, target_.start, target_.handle));
    pair_.b().adapter->transmit(pair_.now());
    ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
    EXPECT_FALSE(qp_b(qp.b).take_drained());
    ASSERT_TRUE(to_state(pair_.b(), qp.b, to));
    pair_.run_for(1s);
    EXPECT_FALSE(qp_b(qp.b).take_drained());
    EXPECT_EQ(events(), 1U);
  }
}

TEST_F(Drain, T_21_reads_that_are_open_stay_so_when_more_may_be_asked) {
  QpInit init = reading(4);
  init.common.max_rd_atomic = 2;  // fewer than the peer serves
  const QpPair qp = pair_.connect(init);
  Memory& from = pair_.a().memory(120'000, 3);
  Memory& to = pair_.b().memory(120'000);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(post_read(pair_.b(), qp.b, {to.sge(i * 30'000, 30'000)}, from, i * 30'000, i));
  }
  const auto open = [&] {
    return std::ranges::count_if(pair_.b().tap.cells, [](const TappedCell& cell) {
      return cell.sent && cell.header().op == Op::kRdmaReadReq;
    });
  };
  pair_.b().tap.is_recording = true;
  ASSERT_TRUE(pair_.run_until([&] { return open() > 0; }));
  EXPECT_EQ(open(), 2) << "both at once, and no third";
  ASSERT_TRUE(pair_.b().sent.empty());
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
  QpAttr attr;
  attr.max_rd_atomic = 4;
  ASSERT_TRUE(pair_.b().adapter->modify_qp(qp.b, QpState::kRts, kAttrMaxRdAtomic, attr));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 4; }));
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pair_.b().sent[i].status, S::kSuccess) << i;
    EXPECT_EQ(pair_.b().sent[i].wr_id, i);
  }
  EXPECT_EQ(to.bytes, from.bytes);
}

TEST_F(Drain, T_26_resume_sq_ends_any_drain) {
  const QpPair qp = pair_.connect(QpInit{});
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
  Memory& m = pair_.b().memory(64);
  ASSERT_TRUE(pair_.b().post_write(qp.b, {m.sge()}, target_.start, target_.handle));
  ASSERT_TRUE(pair_.b().adapter->resume_sq(qp.b));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 1; }));
}

TEST_F(Drain, T_26_a_delay_that_has_begun_ends_in_sqd_and_one_that_has_not_waits) {
  const QpPair qp = pair_.connect(QpInit{});
  SendWr wr;
  wr.op = WrOp::kDelay;
  wr.local.delay = 20ms;
  for (wr.wr_id = 0; wr.wr_id < 2; ++wr.wr_id) {
    ASSERT_TRUE(pair_.b().adapter->post_send(qp.b, wr));
  }
  pair_.run_for(1ms);
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
  EXPECT_FALSE(qp_b(qp.b).take_drained());
  const int busy = pair_.idle_steps_with_past_deadline;
  pair_.run_for(200ms);
  EXPECT_LE(pair_.idle_steps_with_past_deadline - busy, 5);
  EXPECT_EQ(pair_.b().sent.size(), 1U);
  EXPECT_TRUE(qp_b(qp.b).take_drained());
  ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kRts));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
}

TEST_F(Drain, T_26_sqe_then_rts_on_uc_and_ud) {
  for (const Service service : {Service::kUc, Service::kUd}) {
    const QpPair qp = make_unreliable(service);
    pair_.b().received.clear();
    Memory& good = pair_.b().memory(64, 1);
    const auto post_one = [&](std::uint64_t i, bool is_good, End& from, Qpn own, Qpn to) {
      Memory& mine = from.memory(64, 1);
      Sge sge = mine.sge();
      if (!is_good) sge.lkey = MemoryHandle(~sge.lkey.value);
      SendWr wr;
      const std::vector<Sge> gather{sge};
      wr.wr_id = i;
      wr.gather = gather;
      wr.idata = static_cast<std::uint32_t>(i);
      wr.destination_lid = from.link().remote_lid();
      wr.destination_qpn = to;
      ASSERT_TRUE(from.adapter->post_send(own, wr));
    };
    for (std::uint64_t i = 0; i < 6; ++i) post_one(i, i != 3, pair_.b(), qp.b, qp.a);
    ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 6; }));
    EXPECT_EQ(qp_b(qp.b).state(), QpState::kSqe);
    post_one(6, true, pair_.b(), qp.b, qp.a);
    ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 7; }));
    EXPECT_EQ(statuses(pair_.b().sent),
              (std::vector{S::kSuccess, S::kSuccess, S::kSuccess, S::kLocalProtection, S::kFlushed,
                           S::kFlushed, S::kFlushed}));
    // Receiving continues meanwhile.
    ASSERT_TRUE(pair_.b().post_recv(qp.b, {good.sge()}));
    post_one(77, true, pair_.a(), qp.a, qp.b);
    ASSERT_TRUE(pair_.run_until([&] { return pair_.b().received.size() == 1; }));
    EXPECT_EQ(pair_.b().received[0].status, S::kSuccess);

    ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kRts));
    for (std::uint64_t i = 7; i < 10; ++i) post_one(i, true, pair_.b(), qp.b, qp.a);
    ASSERT_TRUE(pair_.run_until([&] { return pair_.a().received.size() == 6; }));
    ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 10; }));
    std::vector<std::uint32_t> got;
    for (const Wc& wc : pair_.a().received) got.push_back(wc.idata);
    EXPECT_EQ(got, (std::vector<std::uint32_t>{0, 1, 2, 7, 8, 9}));
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(pair_.b().sent[i].wr_id, i);
    for (std::size_t i = 7; i < 10; ++i) EXPECT_EQ(pair_.b().sent[i].status, S::kSuccess);
  }
}

TEST_F(Drain, T_26_a_fence_holds_across_sqd) {
  for (const bool binds : {true, false}) {
    const QpPair qp = pair_.connect(reading());
    pair_.b().sent.clear();
    Memory& read = pair_.b().memory(kMessage);
    Memory& behind = pair_.a().memory(kMessage);
    Memory& region = pair_.b().memory(64);
    const auto window = pair_.b().adapter->memory().windows().reserve_window(pair_.b().pd).value();
    ASSERT_TRUE(post_read(pair_.b(), qp.b, {read.sge()}, target_, 0, 1));
    SendWr wr;  // a bind, or a write of what was read: without the fence that would be zeros
    const std::vector<Sge> gather{read.sge()};
    wr.wr_id = 2;
    wr.op = binds ? WrOp::kBind : WrOp::kRdmaWrite;
    wr.is_fenced = true;
    wr.local = {.window = window,
                .region = region.handle,
                .address = region.start,
                .length = 64,
                .rights = kRemoteRead};
    if (!binds) wr.gather = gather;
    wr.remote_address = behind.start;
    wr.remote_handle = behind.handle;
    ASSERT_TRUE(pair_.b().adapter->post_send(qp.b, wr));
    pair_.b().adapter->transmit(pair_.now());
    const auto is_done = [&] {
      return pair_.b().adapter->memory().entry(window)->is_valid || !behind.is_zero();
    };
    EXPECT_FALSE(is_done());
    ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kSqd));
    ASSERT_TRUE(pair_.run_until([&] { return qp_b(qp.b).take_drained(); }));
    pair_.run_for(1s);
    EXPECT_EQ(wr_ids(pair_.b().sent), (std::vector<std::uint64_t>{1}));
    EXPECT_FALSE(is_done());
    ASSERT_TRUE(to_state(pair_.b(), qp.b, QpState::kRts));
    ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
    EXPECT_EQ(wr_ids(pair_.b().sent), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(statuses(pair_.b().sent), std::vector(2, S::kSuccess));
    EXPECT_TRUE(is_done());
    if (!binds) {
      EXPECT_EQ(behind.bytes, target_.bytes);
    }
  }
}

}  // namespace splitnic::fabric::testing::drain_test
