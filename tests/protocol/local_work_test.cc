// Work requests that run in the order of the send queue and send nothing: bind, unbind, delay. And
// the Send that ends a region or window of the other side.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::local_work_test {

using namespace std::chrono_literals;

base::Status post_local(End& end, Qpn qpn, WrOp op, const LocalWork& work,
                        std::uint64_t wr_id = 0) {
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = op;
  wr.local = work;
  return end.adapter->post_send(qpn, wr);
}

base::Status post_send_dereg(End& end, Qpn qpn, std::vector<Sge> gather, MemoryHandle tag) {
  SendWr wr;
  wr.op = WrOp::kSendDereg;
  wr.gather = gather;
  wr.dereg = tag;
  return end.adapter->post_send(qpn, wr);
}

class LocalWorkTest : public ::testing::Test {
 protected:
  LocalWork bind_of(Memory& region, std::size_t offset, std::uint64_t length,
                    std::uint8_t rights = kRemoteRead | kRemoteWrite) {
    return {.window = table().windows().reserve_window(pair_.b().pd).value(),
            .region = region.handle,
            .address = region.at(offset),
            .length = length,
            .rights = rights};
  }
  Mrwt& table() { return pair_.b().adapter->memory(); }
  WcStatus write_from_a(MemoryHandle handle, VirtualAddress to, std::size_t bytes) {
    pair_.a().sent.clear();
    EXPECT_TRUE(pair_.a().post_write(qp_.a, {mine_.sge(0, bytes)}, to, handle));
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.a().sent.empty(); }));
    return pair_.a().sent[0].status;
  }
  AdapterPair pair_;
  QpPair qp_ = pair_.connect(reading());
  Memory& mine_ = pair_.a().memory(4096, 7);
};

TEST_F(LocalWorkTest, S000_06_a_bound_key_works_when_the_send_behind_it_arrives) {
  Memory& region = pair_.b().memory(4096, 0, kLocalRead | kLocalWrite | kWindowBind);
  Memory& message = pair_.b().memory(4);
  Memory& inbox = pair_.a().memory(4);
  const LocalWork bind = bind_of(region, 100, 13);
  EXPECT_EQ(
      table()
          .access(bind.window, region.at(100), 1, AccessKind::kRemoteWrite, pair_.b().pd, qp_.b)
          .failed,
      AccessCheck::kA);
  std::memcpy(message.bytes.data(), &bind.window.value, 4);
  ASSERT_TRUE(pair_.a().post_recv(qp_.a, {inbox.sge()}));
  ASSERT_TRUE(post_local(pair_.b(), qp_.b, WrOp::kBind, bind, 1));
  ASSERT_TRUE(pair_.b().post_send(qp_.b, {message.sge()}, 2));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
  MemoryHandle key;
  std::memcpy(&key.value, inbox.bytes.data(), 4);
  EXPECT_EQ(write_from_a(key, region.at(100), 13), WcStatus::kSuccess);
  EXPECT_TRUE(
      std::equal(mine_.bytes.begin(), mine_.bytes.begin() + 13, region.bytes.begin() + 100));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
  EXPECT_EQ(pair_.b().sent[0].op, WcOp::kBind);
  EXPECT_EQ(pair_.b().sent[0].wr_id, 1U);

  ASSERT_TRUE(post_local(pair_.b(), qp_.b, WrOp::kUnbind, {.window = key}, 3));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 3; }));
  EXPECT_EQ(pair_.b().sent[2].status, WcStatus::kSuccess);
  const auto before = region.bytes;
  EXPECT_EQ(write_from_a(key, region.at(100), 13), WcStatus::kRemoteAccess);
  EXPECT_EQ(region.bytes, before);
}

TEST_F(LocalWorkTest, S000_20_thirteen_bytes_at_an_odd_address) {
  Memory& region = pair_.b().memory(4096, 0, kLocalRead | kLocalWrite | kWindowBind);
  const LocalWork bind = bind_of(region, 101, 13);
  ASSERT_TRUE(post_local(pair_.b(), qp_.b, WrOp::kBind, bind));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
  EXPECT_EQ(write_from_a(bind.window, region.at(101), 13), WcStatus::kSuccess);
  EXPECT_EQ(write_from_a(bind.window, region.at(101), 14), WcStatus::kRemoteAccess);
  EXPECT_EQ(region.bytes[114], std::byte{0});
}

TEST_F(LocalWorkTest, S000_06_S002_18_a_bind_that_is_refused_ends_the_queue_and_changes_nothing) {
  Memory& closed = pair_.b().memory(64, 1, kLocalRead | kLocalWrite);  // without the bind bit
  Memory& from = pair_.b().memory(64, 1);
  const LocalWork bind = bind_of(closed, 0, 64);
  const std::size_t live = table().live_count();
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from.sge()}, mine_.at(0), mine_.handle, 1));
  ASSERT_TRUE(post_local(pair_.b(), qp_.b, WrOp::kBind, bind, 2));
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {from.sge()}, mine_.at(100), mine_.handle, 3));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 3; }));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair_.b().sent[1].status, WcStatus::kBind);
  EXPECT_EQ(pair_.b().sent[2].status, WcStatus::kFlushed);
  EXPECT_EQ(table().live_count(), live);
  EXPECT_EQ(pair_.b().qp(qp_.b).state(), QpState::kErr);
}

// Each on its own queue pair: a refusal ends it.
TEST_F(LocalWorkTest, S000_06_what_may_not_be_bound_is_refused_and_stays_as_it_is) {
  End& b = pair_.b();
  Memory& region = b.memory(4096, 0, kLocalRead | kLocalWrite | kWindowBind);
  const auto post = [&](const LocalWork& work) {
    const QpPair qp = pair_.connect(QpInit{});
    b.sent.clear();
    EXPECT_TRUE(post_local(b, qp.b, WrOp::kBind, work));
    EXPECT_TRUE(pair_.run_until([&] { return !b.sent.empty(); }));
    return b.sent[0].status;
  };
  LocalWork foreign = bind_of(region, 0, 64);
  foreign.window = table().windows().reserve_window(b.adapter->alloc_pd()).value();
  EXPECT_EQ(post(foreign), WcStatus::kBind) << "a window of another domain";
  LocalWork odd = bind_of(region, 0, 64);
  for (const std::uint8_t rights : {std::uint8_t{0x80}, std::uint8_t{kWindowBind}}) {
    odd.rights = rights;
    EXPECT_EQ(post(odd), WcStatus::kBind) << "unknown rights " << int{rights};
  }
  for (const MemoryHandle window : {foreign.window, odd.window}) {
    EXPECT_FALSE(table().entry(window)->is_valid);
  }
  EXPECT_EQ(table().entry(region.handle)->windows_bound, 0U);

  LocalWork bound = bind_of(region, 100, 13);
  EXPECT_EQ(post(bound), WcStatus::kSuccess);
  bound.address = region.at(0);
  bound.length = 4097;
  EXPECT_EQ(post(bound), WcStatus::kBind) << "beyond the region";
  EXPECT_EQ(table().start_of(bound.window), region.at(100));
  EXPECT_EQ(table().length_of(bound.window), 13U);
  EXPECT_EQ(table().entry(region.handle)->windows_bound, 1U);
}

// One key, one range after the other: the work requests change its association.
TEST_F(LocalWorkTest, S000_06_a_bind_moves_a_key_to_another_range_and_an_unbind_keeps_the_key) {
  Memory& first = pair_.b().memory(4096, 0, kLocalRead | kLocalWrite | kWindowBind);
  Memory& second = pair_.b().memory(4096, 0, kLocalRead | kLocalWrite | kWindowBind);
  const std::size_t live = table().live_count() + 1;
  LocalWork bind = bind_of(first, 100, 13);
  const auto run = [&](WrOp op) {
    pair_.b().sent.clear();
    EXPECT_TRUE(post_local(pair_.b(), qp_.b, op, bind));
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    return pair_.b().sent[0].status;
  };
  // A refused access ends the queue pair, so each is tried on the table.
  const auto may_write = [&](VirtualAddress at, std::uint64_t bytes) {
    return table()
        .access(bind.window, at, bytes, AccessKind::kRemoteWrite, pair_.b().pd, qp_.b)
        .ok();
  };
  ASSERT_EQ(run(WrOp::kBind), WcStatus::kSuccess);
  EXPECT_EQ(write_from_a(bind.window, first.at(100), 13), WcStatus::kSuccess);
  bind.region = second.handle;
  bind.address = second.at(7);
  bind.length = 5;
  ASSERT_EQ(run(WrOp::kBind), WcStatus::kSuccess);
  EXPECT_EQ(write_from_a(bind.window, second.at(7), 5), WcStatus::kSuccess);
  EXPECT_FALSE(may_write(first.at(100), 13)) << "no more where it was";
  EXPECT_EQ(table().entry(first.handle)->windows_bound, 0U);
  EXPECT_EQ(table().entry(second.handle)->windows_bound, 1U);
  ASSERT_EQ(run(WrOp::kUnbind), WcStatus::kSuccess);
  EXPECT_FALSE(may_write(second.at(7), 5));
  EXPECT_EQ(table().live_count(), live) << "the key is still allocated";
  bind.region = first.handle;
  bind.address = first.at(0);
  ASSERT_EQ(run(WrOp::kBind), WcStatus::kSuccess);
  EXPECT_EQ(write_from_a(bind.window, first.at(0), 5), WcStatus::kSuccess) << "and once more";
  ASSERT_EQ(run(WrOp::kUnbind), WcStatus::kSuccess);
  EXPECT_EQ(run(WrOp::kUnbind), WcStatus::kBind) << "it has no range";
}

TEST_F(LocalWorkTest, S000_06_each_runs_once_however_often_its_neighbours_are_sent) {
  for (const bool selective : {true, false}) {
    PairOptions options;
    options.seed = selective ? 5 : 6;
    AdapterPair pair(options);
    QpInit init;
    init.selective_repeat = selective;
    const QpPair qp = pair.connect(init);
    FaultConfig faults;
    faults.loss_ppm = 100'000;
    faults.reorder_ppm = 50'000;
    pair.a().faults.set_config(faults);
    pair.b().faults.set_config(faults);
    Memory& from = pair.b().memory(5000, 1);
    Memory& to = pair.a().memory(5000);
    Mrwt& table = pair.b().adapter->memory();
    const std::size_t live = table.live_count();
    const MemoryHandle window = table.windows().reserve_window(pair.b().pd).value();
    for (std::uint64_t i = 0; i < 50; ++i) {
      const LocalWork bind{.window = window,
                           .region = from.handle,
                           .address = from.start,
                           .length = 10,
                           .rights = kRemoteRead};
      ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 4 * i));
      ASSERT_TRUE(post_local(pair.b(), qp.b, WrOp::kBind, bind, 4 * i + 1));
      ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 4 * i + 2));
      ASSERT_TRUE(post_local(pair.b(), qp.b, WrOp::kUnbind, {.window = window}, 4 * i + 3));
    }
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 200; }));
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(pair.b().sent[i].status, WcStatus::kSuccess) << i;
      ASSERT_EQ(pair.b().sent[i].wr_id, i);
    }
    EXPECT_EQ(table.live_count(), live + 1);
    EXPECT_EQ(table.length_of(window), 0U);
  }
}

TEST_F(LocalWorkTest, S000_07_a_delay_holds_back_its_own_queue_only) {
  const QpPair other = pair_.connect(QpInit{});
  Memory& from = pair_.b().memory(64, 1);
  for (const Qpn qpn : {qp_.a, other.a}) {
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(pair_.a().post_recv(qpn, {mine_.sge()}));
  }
  const base::Time posted = pair_.now();
  ASSERT_TRUE(pair_.b().post_send(qp_.b, {from.sge()}));
  ASSERT_TRUE(post_local(pair_.b(), qp_.b, WrOp::kDelay, {.delay = 20ms}));
  ASSERT_TRUE(pair_.b().post_send(qp_.b, {from.sge()}));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pair_.b().post_send(other.b, {from.sge()}));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.a().received.size() == 3; }));
  const base::Time three = pair_.now();
  EXPECT_LT(three - posted, 5ms);
  const auto of_other =
      std::ranges::count_if(pair_.a().received, [&](const Wc& wc) { return wc.qpn == other.a; });
  EXPECT_EQ(of_other, 2);
  ASSERT_TRUE(pair_.run_until([&] { return pair_.a().received.size() == 4; }));
  EXPECT_GE(pair_.now() - three, 19ms);
  EXPECT_LE(pair_.now() - three, 21ms);
  EXPECT_LE(pair_.idle_steps_with_past_deadline, 5);
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 5; }));
}

TEST_F(LocalWorkTest, S000_07_L_15_a_delay_that_ends_while_the_link_is_down_waits_for_it) {
  ASSERT_TRUE(post_local(pair_.b(), qp_.b, WrOp::kDelay, {.delay = 2s}));
  pair_.run_for(1ms);
  pair_.b().faults.set_cut(true);
  pair_.run_for(4s);
  EXPECT_FALSE(pair_.b().link().up());
  EXPECT_TRUE(pair_.b().sent.empty());
  EXPECT_LE(pair_.idle_steps_with_past_deadline, 5);
  pair_.b().faults.set_cut(false);
  EXPECT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 1; }));
}

TEST_F(LocalWorkTest, S000_06_connectionless_queues_run_it_in_order_too) {
  const Qpn ud = pair_.make_ud(pair_.b());
  Memory& region = pair_.b().memory(64, 0, kLocalRead | kLocalWrite | kWindowBind);
  const LocalWork bind = bind_of(region, 0, 64);
  ASSERT_TRUE(post_local(pair_.b(), ud, WrOp::kDelay, {.delay = 5ms}, 1));
  ASSERT_TRUE(post_local(pair_.b(), ud, WrOp::kBind, bind, 2));
  pair_.run_for(4ms);
  EXPECT_TRUE(pair_.b().sent.empty());
  EXPECT_FALSE(table().entry(bind.window)->is_valid);
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
  EXPECT_EQ(pair_.b().sent[0].op, WcOp::kDelay);
  EXPECT_EQ(pair_.b().sent[1].status, WcStatus::kSuccess);
  EXPECT_TRUE(table().entry(bind.window)->is_valid);
  EXPECT_FALSE(post_local(pair_.b(), qp_.b, WrOp::kDelay, {.delay = -1ms}));
}

class SendDereg : public ::testing::Test {
 protected:
  SendDereg() {
    QpInit init;
    init.common.takes_dereg = true;
    qp_ = pair_.connect(init);
    EXPECT_TRUE(pair_.a().post_recv(qp_.a, {inbox_.sge()}));
  }
  bool is_live(MemoryHandle handle) { return pair_.a().adapter->memory().entry(handle) != nullptr; }
  void expect_refused(MemoryHandle tag) {
    ASSERT_TRUE(post_send_dereg(pair_.b(), qp_.b, {message_.sge()}, tag));
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kRemoteAccess);
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
    EXPECT_EQ(pair_.a().received[0].status, WcStatus::kFlushed);
  }
  AdapterPair pair_;
  QpPair qp_;
  Memory& message_ = pair_.b().memory(5000, 1);
  Memory& inbox_ = pair_.a().memory(5000);
};

TEST_F(SendDereg, S002_35_the_tag_is_invalid_when_the_send_completes) {
  Memory& region = pair_.a().memory(64, 1);
  ASSERT_TRUE(post_send_dereg(pair_.b(), qp_.b, {message_.sge()}, region.handle));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
  EXPECT_EQ(pair_.a().received[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair_.a().received[0].ended, region.handle);
  EXPECT_EQ(inbox_.bytes, message_.bytes);
  EXPECT_FALSE(is_live(region.handle));
  const auto before = region.bytes;
  ASSERT_TRUE(pair_.b().post_write(qp_.b, {message_.sge(0, 8)}, region.start, region.handle));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
  EXPECT_EQ(pair_.b().sent[1].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(region.bytes, before);
}

TEST_F(SendDereg, S002_35_once_over_a_bad_path) {
  pair_.a().faults.set_config({.loss_ppm = 200'000, .duplicate_ppm = 200'000});
  for (int i = 0; i < 20; ++i) {
    Memory& region = pair_.a().memory(64);
    pair_.a().received.clear();
    ASSERT_TRUE(post_send_dereg(pair_.b(), qp_.b, {message_.sge()}, region.handle));
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
    ASSERT_EQ(pair_.a().received[0].status, WcStatus::kSuccess);
    EXPECT_FALSE(is_live(region.handle));
    ASSERT_TRUE(pair_.a().post_recv(qp_.a, {inbox_.sge()}));
  }
}

TEST_F(SendDereg, S002_35_a_tag_of_another_domain_is_refused) {
  Mrwt& table = pair_.a().adapter->memory();
  std::vector<std::byte> bytes(64);
  const auto foreign =
      table.regions().register_region(pair_.a().adapter->alloc_pd(), bytes, kAccessRights).value();
  expect_refused(foreign);
  EXPECT_TRUE(is_live(foreign));
}

TEST_F(SendDereg, S002_35_what_the_peer_was_not_given_is_refused) {
  Memory& own = pair_.a().memory(64, 0, kLocalRead | kLocalWrite);
  expect_refused(own.handle);
  EXPECT_TRUE(is_live(own.handle));
}

TEST_F(SendDereg, S002_35_a_window_of_another_queue_pair_is_refused) {
  Memory& region = pair_.a().memory(64);
  const QpPair other = pair_.connect(QpInit{});
  const auto bind = [&](Qpn qpn) {
    return pair_.a()
        .adapter->memory()
        .windows()
        .bind_window(pair_.a().pd, region.handle, region.start, 8, kRemoteRead, qpn)
        .value();
  };
  const MemoryHandle own = bind(qp_.a);
  ASSERT_TRUE(post_send_dereg(pair_.b(), qp_.b, {message_.sge(0, 8)}, own));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 1; }));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_FALSE(is_live(own));
  pair_.b().sent.clear();
  pair_.a().received.clear();
  ASSERT_TRUE(pair_.a().post_recv(qp_.a, {inbox_.sge()}));
  const MemoryHandle window = bind(other.a);
  expect_refused(window);
  EXPECT_TRUE(is_live(window));
}

TEST_F(SendDereg, S002_35_a_region_with_windows_is_refused) {
  Memory& region = pair_.a().memory(64);
  ASSERT_TRUE(pair_.a().adapter->memory().windows().bind_window(
      pair_.a().pd, region.handle, region.start, 8, kRemoteRead, Qpn{}));
  expect_refused(region.handle);
  EXPECT_TRUE(is_live(region.handle));
}

TEST_F(SendDereg, S002_35_a_queue_pair_that_does_not_take_it) {
  const QpPair plain = pair_.connect(QpInit{});
  Memory& region = pair_.a().memory(64);
  ASSERT_TRUE(pair_.a().post_recv(plain.a, {inbox_.sge()}));
  ASSERT_TRUE(post_send_dereg(pair_.b(), plain.b, {message_.sge(0, 8)}, region.handle));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
  EXPECT_EQ(pair_.b().sent[0].status, WcStatus::kRemoteInvalid);
  EXPECT_TRUE(is_live(region.handle));
}

}  // namespace splitnic::fabric::testing::local_work_test
