// Tests the end of a stream: a refused access with the letter of its check, at both sides; memory
// of the own side that is gone; a Send longer than its receive.
#include <gtest/gtest.h>

#include "tests/support/stream_harness.h"

namespace splitnic::fabric::testing::stream_terminate_test {

using namespace std::chrono_literals;

// A range of end a that check `letter` refuses, and the cause that goes with it.
struct Refusal {
  char letter;
  TerminateCause cause;
};
struct Case {
  MrwtProfile profile;
  WrOp op;
  Refusal refusal;
};

constexpr std::size_t kLength = 3000;

// Through windows, as both profiles have them.
VaMh refused_range(StreamHarness& harness, Memory& region, char letter) {
  Mrwt& table = harness.a().adapter->memory();
  const auto bind = [&](std::uint8_t rights, std::size_t length) {
    return table.windows()
        .bind_window(harness.a().pd, region.handle, region.start, length, rights, Qpn{})
        .value();
  };
  const VaMh good{region.start, bind(kRemoteRead | kRemoteWrite, kLength), kLength};
  VaMh out = good;
  switch (letter) {
    case 'a':
      out.handle = MemoryHandle(0x7FFFFFFF);
      break;
    case 'b': {
      // A region is refused as such in the strict profile only, an iSCSI region in both.
      if (table.profile() == MrwtProfile::kStrictWindows) {
        out.handle = region.handle;
      } else {
        out.handle = table.regions()
                         .register_iscsi(harness.a().pd, region.bytes, kRemoteRead | kRemoteWrite,
                                         kDeviceRead)
                         .value();
      }
      break;
    }
    case 'c': {
      const PdId other = harness.a().adapter->alloc_pd();
      const MemoryHandle of_other =
          table.regions()
              .register_region(other, region.bytes, kAccessRights | kWindowBind, region.start)
              .value();
      out.handle = table.windows()
                       .bind_window(other, of_other, region.start, kLength,
                                    kRemoteRead | kRemoteWrite, Qpn{})
                       .value();
      break;
    }
    case 'd': {
      const MemoryHandle old = bind(kRemoteRead | kRemoteWrite, kLength);
      EXPECT_TRUE(table.windows().unbind(old));
      const std::size_t before = table.index_count();
      do {  // until the index is reused, so that only the instance differs
        bind(kRemoteRead | kRemoteWrite, kLength);
      } while (table.index_count() > before);
      out.handle = old;
      break;
    }
    case 'e':
      out.address = VirtualAddress(region.start.value + 1);
      break;
    default:
      out.handle = bind(0, kLength);
      break;
  }
  return out;
}

base::Status post(End& end, Qpn qpn, WrOp op, const Sge& piece, const VaMh& range,
                  std::uint64_t wr_id) {
  const std::vector<Sge> pieces{piece};
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = op;
  wr.gather = pieces;
  wr.remote_address = range.address;
  wr.remote_handle = range.handle;
  return end.adapter->post_send(qpn, wr);
}

// Memory that the response to a read may go to, in either profile.
Sge sink_of(End& end, Memory& memory) {
  Sge piece = memory.sge(0, kLength);
  piece.lkey = end.adapter->memory()
                   .windows()
                   .bind_window(end.pd, memory.handle, memory.start, memory.bytes.size(),
                                kRemoteWrite, Qpn{})
                   .value();
  return piece;
}

class LetterTest : public ::testing::TestWithParam<Case> {};

TEST_P(LetterTest, X_47_X_37_S002_20_a_refused_access_ends_both_sides_with_its_letter) {
  const Case& tested = GetParam();
  StreamLine harness(StreamHarness::reads(), StreamHarness::options(tested.profile));
  harness.b().tap.is_recording = true;
  Memory& region = harness.a().memory(kLength, 8);
  Memory& local = harness.b().memory(kLength, 1);
  const bool reads = tested.op == WrOp::kRdmaRead;
  const Sge piece = reads ? sink_of(harness.b(), local) : local.sge();
  const VaMh range = refused_range(harness, region, tested.refusal.letter);
  const auto before_there = region.bytes;
  const auto before_here = local.bytes;
  Memory& receive = harness.a().memory(100);
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {receive.sge()}, 1));
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {receive.sge()}, 2));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {harness.b().memory(10).sge()}, 1));
  ASSERT_TRUE(post(harness.b(), harness.qb, tested.op, piece, range, 2));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {local.sge(0, 10)}, 3));
  ASSERT_TRUE(harness.run_sent(3));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(harness.b().sent[1].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(harness.b().sent[1].wr_id, 2U);
  EXPECT_EQ(harness.b().sent[2].status, WcStatus::kFlushed);
  EXPECT_TRUE(harness.are_both_down());
  ASSERT_EQ(harness.a().received.size(), 2U);
  EXPECT_EQ(harness.a().received[1].status, WcStatus::kFlushed);
  EXPECT_EQ(region.bytes, before_there) << "nothing placed";
  EXPECT_EQ(local.bytes, before_here) << "nothing returned";
  const auto terminate = harness.terminate_at_b();
  ASSERT_TRUE(terminate);
  EXPECT_EQ(terminate->check, tested.refusal.letter);
  EXPECT_EQ(terminate->cause, tested.refusal.cause);
  EXPECT_EQ(terminate->handle, range.handle);
  EXPECT_EQ(terminate->address, range.address);
  EXPECT_EQ(terminate->length, kLength);
  EXPECT_EQ(terminate->offending.op, reads ? Op::kRdmaReadReq : Op::kRdmaWrite);
  EXPECT_EQ(terminate->offending.psn, harness.sb().start_psn + 1);
  EXPECT_EQ(harness.count_a(StreamCounter::kDropAccess), 1U);
  EXPECT_EQ(harness.count_b(StreamCounter::kRxTerminates), 1U);
  harness.pair.run_for(1s);
  EXPECT_EQ(harness.count_a(StreamCounter::kTxTerminates), 1U) << "it was acknowledged";
}

std::vector<Case> all_cases() {
  constexpr auto kRefusals = std::to_array<Refusal>({{'a', TerminateCause::kInvalidTag},
                                                     {'b', TerminateCause::kAccess},
                                                     {'c', TerminateCause::kProtectionDomain},
                                                     {'d', TerminateCause::kInvalidTag},
                                                     {'e', TerminateCause::kBounds},
                                                     {'f', TerminateCause::kAccess}});
  std::vector<Case> out;
  for (const MrwtProfile profile : {MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows}) {
    for (const WrOp op : {WrOp::kRdmaWrite, WrOp::kRdmaRead}) {
      for (const Refusal& refusal : kRefusals) out.push_back({profile, op, refusal});
    }
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, LetterTest, ::testing::ValuesIn(all_cases()), [](const auto& tested) {
  const Case& c = tested.param;
  return std::string(c.profile == MrwtProfile::kRegionsOk ? "regions" : "strict") +
         (c.op == WrOp::kRdmaWrite ? "_write_" : "_read_") + c.refusal.letter;
});

TEST(StreamTerminateTest, X_17_S002_20_a_region_serves_a_write_unless_the_profile_is_strict) {
  for (const MrwtProfile profile : {MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows}) {
    StreamLine harness(StreamHarness::reads(), StreamHarness::options(profile));
    Memory& there = harness.a().memory(kLength);
    Memory& here = harness.b().memory(kLength, 1);
    ASSERT_TRUE(harness.b().post_write(harness.qb, {here.sge()}, there.start, there.handle));
    ASSERT_TRUE(harness.run_sent(1));
    const bool is_served = profile == MrwtProfile::kRegionsOk;
    EXPECT_EQ(harness.b().sent[0].status, is_served ? WcStatus::kSuccess : WcStatus::kRemoteAccess);
    EXPECT_EQ(there.bytes == here.bytes, is_served);
  }
}

TEST(StreamTerminateTest, S002_20_a_range_that_wraps_is_reported_as_such) {
  StreamLine harness;
  harness.b().tap.is_recording = true;
  Memory& there = harness.a().memory(kLength);
  Memory& here = harness.b().memory(kLength, 1);
  ASSERT_TRUE(harness.b().post_write(harness.qb, {here.sge()}, VirtualAddress(UINT64_MAX - 1500),
                                     there.handle));
  ASSERT_TRUE(harness.run_sent(1));
  ASSERT_TRUE(harness.terminate_at_b());
  EXPECT_EQ(harness.terminate_at_b()->cause, TerminateCause::kWrap);
  EXPECT_EQ(harness.terminate_at_b()->check, 'e');
}

// checked per cell.
TEST(StreamTerminateTest, S002_20_a_region_that_ends_in_mid_response_ends_the_stream) {
  StreamInit narrow = StreamHarness::reads();
  narrow.window_bytes = 4000;
  StreamLine harness(narrow);
  Memory& there = harness.a().memory(1 << 20, 3);
  Memory& into = harness.b().memory(1 << 20);
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, there, 0, 7));
  ASSERT_TRUE(harness.pair.run_until([&] { return into.bytes[100'000] != std::byte{0}; }));
  ASSERT_TRUE(harness.b().sent.empty());
  ASSERT_TRUE(harness.a().adapter->memory().regions().deregister(there.handle));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRemoteAccess);
  EXPECT_TRUE(harness.are_both_down());
}

TEST(StreamTerminateTest, X_47_a_terminate_that_is_lost_is_repeated) {
  StreamLine harness;
  Memory& here = harness.b().memory(100, 1);
  harness.b().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(
      harness.b().post_write(harness.qb, {here.sge()}, VirtualAddress(5), MemoryHandle(77)));
  harness.pair.run_for(30ms);
  EXPECT_EQ(harness.sa().state(), QpState::kErr);
  EXPECT_EQ(harness.sb().state(), QpState::kRts);
  EXPECT_GT(harness.count_a(StreamCounter::kTxTerminates), 1U);
  harness.b().faults.set_config({});
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRemoteAccess);
}

TEST(StreamTerminateTest, X_47_but_not_indefinitely) {
  StreamLine harness;
  Memory& here = harness.b().memory(100, 1);
  harness.b().faults.set_config({.loss_ppm = 1'000'000});
  ASSERT_TRUE(
      harness.b().post_write(harness.qb, {here.sge()}, VirtualAddress(5), MemoryHandle(77)));
  harness.pair.run_for(60s);
  EXPECT_EQ(harness.count_a(StreamCounter::kTxTerminates), 7U);
  EXPECT_LT(harness.pair.idle_steps_with_past_deadline, 10);
}

TEST(StreamTerminateTest, S002_19_local_memory_that_is_gone_is_an_error_of_that_work_request) {
  StreamLine harness;
  Memory& here = harness.b().memory(1000, 1);
  Memory& gone = harness.b().memory(1000, 2);
  Memory& there = harness.a().memory(1000);
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {there.sge()}));
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {there.sge()}));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {here.sge()}, 1));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {gone.sge()}, 2));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {here.sge()}, 3));
  ASSERT_TRUE(harness.b().adapter->memory().regions().deregister(gone.handle));
  ASSERT_TRUE(harness.run_sent(3));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(harness.b().sent[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(harness.b().sent[2].status, WcStatus::kFlushed);
  harness.settle();
  EXPECT_TRUE(harness.are_both_down());
  EXPECT_EQ(there.bytes, here.bytes);
}

TEST(StreamTerminateTest, S002_19_a_receive_whose_memory_is_gone_is_an_error_of_that_receive) {
  StreamLine harness;
  Memory& here = harness.b().memory(1000, 1);
  Memory& gone = harness.a().memory(1000);
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {gone.sge()}, 4));
  ASSERT_TRUE(harness.a().adapter->memory().regions().deregister(gone.handle));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {here.sge()}));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRemoteOperational);
  ASSERT_EQ(harness.a().received.size(), 1U);
  EXPECT_EQ(harness.a().received[0].status, WcStatus::kLocalProtection);
  EXPECT_TRUE(gone.is_zero());
}

TEST(StreamTerminateTest, a_send_longer_than_its_receive_ends_the_stream) {
  StreamLine harness;
  harness.b().tap.is_recording = true;
  Memory& here = harness.b().memory(1000, 1);
  Memory& there = harness.a().memory(999);
  ASSERT_TRUE(harness.a().post_recv(harness.qa, {there.sge()}));
  ASSERT_TRUE(harness.b().post_send(harness.qb, {here.sge()}));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRemoteInvalid);
  ASSERT_EQ(harness.a().received.size(), 1U);
  EXPECT_EQ(harness.a().received[0].status, WcStatus::kLocalLength);
  EXPECT_EQ(harness.terminate_at_b()->cause, TerminateCause::kTooLong);
}

TEST(StreamTerminateTest, S002_35_a_send_ends_a_window_of_the_peer_if_it_may) {
  for (const bool takes : {true, false}) {
    StreamInit init = StreamHarness::reads();
    init.common.takes_dereg = takes;
    StreamLine harness(init);
    Memory& there = harness.a().memory(1000);
    Mrwt& table = harness.a().adapter->memory();
    const MemoryHandle handle =
        table.windows()
            .bind_window(harness.a().pd, there.handle, there.start, 10, kRemoteWrite, Qpn{})
            .value();
    ASSERT_TRUE(harness.a().post_recv(harness.qa, {there.sge()}));
    SendWr wr;
    wr.op = WrOp::kSendDereg;
    wr.dereg = handle;
    ASSERT_TRUE(harness.b().adapter->post_send(harness.qb, wr));
    ASSERT_TRUE(harness.run_sent(1));
    EXPECT_EQ(harness.b().sent[0].status, takes ? WcStatus::kSuccess : WcStatus::kRemoteInvalid);
    EXPECT_EQ(table.entry(handle) == nullptr, takes);
    EXPECT_EQ(harness.a().received.at(0).ended, takes ? handle : MemoryHandle{});
  }
}

}  // namespace splitnic::fabric::testing::stream_terminate_test
