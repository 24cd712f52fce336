// Windows that end with the first packet that uses them: no other packet gets in, and what the path
// loses is still repeated.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/cell_maker.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::one_touch_test {

using namespace std::chrono_literals;

class OneTouchTest : public ::testing::Test {
 protected:
  OneTouchTest() {
    QpInit init = reading(2);
    init.common.fixed_rto = 5ms;
    const auto pairs = pair_.connect_all({init, init});
    EXPECT_EQ(pairs.size(), 2U);
    one_ = pairs[0];
    two_ = pairs[1];
  }
  MemoryHandle window(bool is_one_touch = true) {
    Mrwt& table = pair_.a().adapter->memory();
    const MemoryHandle handle =
        table.windows()
            .bind_window(pair_.a().pd, there_.handle, there_.start, there_.bytes.size(),
                         kRemoteRead | kRemoteWrite, Qpn{})
            .value();
    if (is_one_touch) table.one_touch().enable(handle);
    return handle;
  }
  // Posts a write or read through the window and returns its status.
  WcStatus write(Qpn qpn, MemoryHandle handle, std::size_t bytes = 100) {
    pair_.b().sent.clear();
    EXPECT_TRUE(pair_.b().post_write(qpn, {here_.sge(0, bytes)}, there_.start, handle));
    return status();
  }
  WcStatus read(Qpn qpn, MemoryHandle handle, std::size_t bytes = 100) {
    pair_.b().sent.clear();
    post_read_of(qpn, handle, bytes);
    return status();
  }
  void post_read_of(Qpn qpn, MemoryHandle handle, std::size_t bytes) {
    const Memory as_window{.bytes = {}, .handle = handle, .start = there_.start};
    EXPECT_TRUE(post_read(pair_.b(), qpn, {into_.sge(0, bytes)}, as_window));
  }
  WcStatus status() {
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    return pair_.b().sent.empty() ? WcStatus::kFlushed : pair_.b().sent[0].status;
  }
  AdapterPair pair_;
  QpPair one_, two_;
  Memory& there_ = pair_.a().memory(100'000);
  Memory& here_ = pair_.b().memory(100'000, 3);
  Memory& into_ = pair_.b().memory(100'000);
};

TEST_F(OneTouchTest, S002_22_the_first_write_lands_and_the_second_does_not) {
  const MemoryHandle handle = window();
  EXPECT_EQ(write(one_.b, handle, 5000), WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(here_.bytes.begin(), here_.bytes.begin() + 5000, there_.bytes.begin()));
  EXPECT_FALSE(pair_.a().adapter->memory().entry(handle)->is_valid) << "spent";
  const auto before = there_.bytes;
  here_.fill(4);
  EXPECT_EQ(write(two_.b, handle), WcStatus::kRemoteAccess);
  EXPECT_EQ(there_.bytes, before);
  EXPECT_EQ(pair_.a().count(TransportCounter::kDropAccess), 1U);
}

TEST_F(OneTouchTest, S002_22_a_window_with_many_touches_takes_both) {
  const MemoryHandle handle = window(false);
  EXPECT_EQ(write(one_.b, handle), WcStatus::kSuccess);
  EXPECT_EQ(write(two_.b, handle), WcStatus::kSuccess);
}

TEST_F(OneTouchTest, S000_25_a_key_with_one_shot_is_read_once) {
  there_.fill(9);
  const MemoryHandle handle = window();
  EXPECT_EQ(read(one_.b, handle, 50'000), WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(there_.bytes.begin(), there_.bytes.begin() + 50'000, into_.bytes.begin()));
  into_.clear();
  EXPECT_EQ(read(two_.b, handle), WcStatus::kRemoteAccess);
  EXPECT_TRUE(into_.is_zero());
}

// the first cell takes the window for its packet.
TEST_F(OneTouchTest, S002_22_X_18_another_packet_is_refused_while_the_first_arrives) {
  const MemoryHandle handle = window();
  std::size_t seen = 0;
  pair_.a().faults.drop_received([&](base::Bytes) { return ++seen == 10; });
  ASSERT_TRUE(pair_.b().post_write(one_.b, {here_.sge(0, 90'000)}, there_.start, handle, 1));
  ASSERT_TRUE(pair_.run_until([&] { return there_.bytes[0] != std::byte{0}; }));
  ASSERT_TRUE(pair_.b().post_write(two_.b, {here_.sge(50, 10)}, there_.at(95'000), handle, 2));
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
  for (const Wc& wc : pair_.b().sent) {
    EXPECT_EQ(wc.status, wc.wr_id == 1 ? WcStatus::kSuccess : WcStatus::kRemoteAccess);
  }
  EXPECT_TRUE(std::equal(here_.bytes.begin(), here_.bytes.begin() + 90'000, there_.bytes.begin()));
  EXPECT_EQ(there_.bytes[95'000], std::byte{0});
}

TEST_F(OneTouchTest, M_09_a_write_whose_ack_was_lost_is_acknowledged_again) {
  const MemoryHandle handle = window();
  pair_.b().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(pair_.b().post_write(one_.b, {here_.sge(0, 100)}, there_.start, handle));
  pair_.run_for(50ms);
  ASSERT_TRUE(std::equal(here_.bytes.begin(), here_.bytes.begin() + 100, there_.bytes.begin()));
  there_.clear();  // a second placing would show
  const std::uint64_t repeated = pair_.a().count(TransportCounter::kRxDuplicate);
  EXPECT_GT(repeated, 0U);
  pair_.b().faults.set_config({});
  EXPECT_EQ(status(), WcStatus::kSuccess);
  EXPECT_TRUE(there_.is_zero());
  EXPECT_EQ(write(one_.b, handle), WcStatus::kRemoteAccess) << "a new one";
}

TEST_F(OneTouchTest, M_10_a_read_whose_response_was_lost_gets_it_again) {
  there_.fill(9);
  const MemoryHandle handle = window();
  std::size_t responses = 0;
  pair_.b().faults.drop_received([&](base::Bytes) { return ++responses > 3; });
  post_read_of(one_.b, handle, 50'000);
  pair_.run_for(30ms);
  ASSERT_TRUE(pair_.b().sent.empty());
  ASSERT_TRUE(pair_.b().post_write(two_.b, {here_.sge(0, 1)}, there_.start, handle, 7));
  pair_.b().faults.drop_received({});
  ASSERT_TRUE(pair_.run_until([&] { return pair_.b().sent.size() == 2; }));
  for (const Wc& wc : pair_.b().sent) {
    EXPECT_EQ(wc.status, wc.wr_id == 7 ? WcStatus::kRemoteAccess : WcStatus::kSuccess);
  }
  EXPECT_TRUE(std::equal(there_.bytes.begin(), there_.bytes.begin() + 50'000, into_.bytes.begin()));
  EXPECT_EQ(read(one_.b, handle), WcStatus::kRemoteAccess) << "a new one";
}

// As many responses as are kept, and one more: the window is dead for the first packet too.
TEST_F(OneTouchTest, M_10_then_it_is_dead) {
  Mrwt& table = pair_.a().adapter->memory();
  const MemoryHandle handle = window();
  EXPECT_EQ(read(one_.b, handle), WcStatus::kSuccess);
  EXPECT_TRUE(table.entry(handle)->is_valid) << "held for a repetition";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(one_.b, there_.handle), WcStatus::kSuccess);
  EXPECT_FALSE(table.entry(handle)->is_valid);
}

TEST_F(OneTouchTest, M_10_the_end_of_the_queue_pair_ends_what_it_held) {
  Mrwt& table = pair_.a().adapter->memory();
  const MemoryHandle handle = window();
  EXPECT_EQ(read(one_.b, handle), WcStatus::kSuccess);
  ASSERT_TRUE(table.entry(handle)->is_valid);
  ASSERT_TRUE(pair_.a().adapter->modify_qp(one_.a, QpState::kErr, 0, {}));
  EXPECT_FALSE(table.entry(handle)->is_valid);
}

// Two queue pairs that count from the same number; the window is held for the read of one of them.
TEST_F(OneTouchTest, M_10_the_same_number_on_another_queue_pair_is_another_packet) {
  QpAttr attr;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = 2;
  const QpPair one = pair_.connect_by_hand(reading(2), attr);
  const QpPair two = pair_.connect_by_hand(reading(2), attr);
  const MemoryHandle handle = window();
  EXPECT_EQ(read(one.b, handle), WcStatus::kSuccess);
  EXPECT_TRUE(pair_.a().adapter->memory().entry(handle)->is_valid);
  pair_.b().sent.clear();
  ASSERT_TRUE(post_fetch(pair_.b(), two.b, into_, {FetchOp::kSwap, 5, 0}, there_.start, handle));
  EXPECT_EQ(status(), WcStatus::kRemoteAccess);
  EXPECT_TRUE(there_.is_zero());
}

// The handle stays, and belongs to another operation from the bind on.
class KeyBoundAgain : public OneTouchTest {
 protected:
  Mrwt& table() { return pair_.a().adapter->memory(); }
  void bind(const Memory& memory, std::size_t offset, bool is_one_touch) {
    EXPECT_FALSE(table().windows().clear_window(pair_.a().pd, key_));
    EXPECT_FALSE(table().windows().bind_reserved(pair_.a().pd, key_, memory.handle,
                                                 memory.at(offset), memory.bytes.size() - offset,
                                                 kRemoteRead | kRemoteWrite, Qpn{}));
    if (is_one_touch) table().one_touch().enable(key_);
  }
  const MemoryHandle key_ = table().windows().reserve_window(pair_.a().pd).value();
};

TEST_F(KeyBoundAgain, S000_25_the_packet_in_flight_is_over_and_the_key_still_serves_one) {
  for (const bool was_one_touch : {false, true}) {
    there_.clear();
    bind(there_, 0, was_one_touch);
    const QpPair old = pair_.connect(QpInit{});
    const std::size_t mcp = pair_.a().qp(old.a).attr().mcp;
    const std::size_t at = there_.bytes.size() - 2 * mcp;
    CellMaker maker(pair_, 1, old.b, 0, old.a);
    const base::Bytes cell = base::Bytes(here_.bytes).first(mcp);
    const VaMh range{there_.at(at), key_, static_cast<std::uint32_t>(2 * mcp)};
    maker.send(Op::kRdmaWrite, Pos::kFirst, cell, {.va_mh = range});
    pair_.a().poll();
    EXPECT_EQ(there_.bytes[at], here_.bytes[0]);
    bind(there_, at, true);
    maker.send(Op::kRdmaWrite, Pos::kLast, cell);
    pair_.a().poll();
    EXPECT_EQ(there_.bytes[at + mcp], std::byte{0});
    EXPECT_FALSE(table().entry(key_)->touched);
    EXPECT_EQ(pair_.a().qp(old.a).state(), QpState::kErr);
    const QpPair qp = pair_.connect(QpInit{});
    for (const WcStatus wanted : {WcStatus::kSuccess, WcStatus::kRemoteAccess}) {
      pair_.b().sent.clear();
      ASSERT_TRUE(pair_.b().post_write(qp.b, {here_.sge(0, 100)}, there_.at(at + mcp), key_));
      EXPECT_EQ(status(), wanted);
    }
  }
}

TEST_F(KeyBoundAgain, S000_25_the_response_in_flight_is_over_and_the_key_still_serves_one) {
  Memory& from = pair_.a().memory(4 << 20, 9);
  Memory& to = pair_.b().memory(4 << 20);
  bind(from, 0, false);
  const Memory as_window{.bytes = {}, .handle = key_, .start = from.start};
  ASSERT_TRUE(post_read(pair_.b(), one_.b, {to.sge()}, as_window));
  ASSERT_TRUE(pair_.run_until([&] { return to.bytes[1 << 20] != std::byte{0}; }));
  ASSERT_TRUE(pair_.b().sent.empty());
  bind(from, 0, true);
  EXPECT_EQ(status(), WcStatus::kRemoteAccess);
  EXPECT_EQ(to.bytes.back(), std::byte{0});
  EXPECT_FALSE(table().entry(key_)->touched);
  pair_.b().sent.clear();
  ASSERT_TRUE(post_read(pair_.b(), two_.b, {to.sge(0, 100)}, as_window));
  EXPECT_EQ(status(), WcStatus::kSuccess);
}

TEST_F(OneTouchTest, S002_22_a_fetch_op_is_a_use_and_gets_its_response_again) {
  const MemoryHandle handle = window();
  pair_.b().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(
      post_fetch(pair_.b(), one_.b, into_, {FetchOp::kFetchAdd, 5, 0}, there_.start, handle));
  pair_.run_for(30ms);
  pair_.b().faults.set_config({});
  EXPECT_EQ(status(), WcStatus::kSuccess);
  EXPECT_EQ(word_of(there_), 5U);
  EXPECT_EQ(write(one_.b, handle), WcStatus::kRemoteAccess);
}

TEST_F(OneTouchTest, S002_22_a_bind_work_request_may_ask_for_it) {
  Mrwt& table = pair_.a().adapter->memory();
  SendWr wr;
  wr.op = WrOp::kBind;
  wr.local.window = table.windows().reserve_window(pair_.a().pd).value();
  wr.local.region = there_.handle;
  wr.local.address = there_.start;
  wr.local.length = 1000;
  wr.local.rights = kRemoteWrite;
  wr.local.is_one_touch = true;
  ASSERT_TRUE(pair_.a().adapter->post_send(one_.a, wr));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().sent.empty(); }));
  EXPECT_EQ(write(one_.b, wr.local.window), WcStatus::kSuccess);
  EXPECT_EQ(write(one_.b, wr.local.window), WcStatus::kRemoteAccess);
}

}  // namespace splitnic::fabric::testing::one_touch_test
