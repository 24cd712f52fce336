// Table D on STREAM, row by row, with cells made by hand; then one-touch windows over a path that
// loses cells. docs/protocol/stream.md#table-d
#include <gtest/gtest.h>

#include "tests/support/stream_harness.h"

namespace splitnic::fabric::testing::stream_one_touch_test {

using namespace std::chrono_literals;

class TableDTest : public ::testing::TestWithParam<MrwtProfile> {
 protected:
  // A window on all of there_.
  MemoryHandle window(bool is_one_touch = true) {
    const MemoryHandle handle =
        table()
            .windows()
            .bind_window(harness_.a().pd, there_.handle, there_.start, there_.bytes.size(),
                         kRemoteRead | kRemoteWrite, Qpn{})
            .value();
    if (is_one_touch) table().one_touch().enable(handle);
    return handle;
  }
  Mrwt& table() { return harness_.a().adapter->memory(); }
  bool is_valid(MemoryHandle handle) { return table().entry(handle)->is_valid; }
  bool is_touched(MemoryHandle handle) { return table().entry(handle)->touched; }
  bool is_up() { return harness_.sa().state() == QpState::kRts; }
  // A write of three cells: two full ones and one of 88 bytes.
  std::vector<StreamMaker::Cell> three_cells(MemoryHandle handle, std::size_t seed = 1) {
    return maker_.write(handle, there_.start, some_bytes(600, seed));
  }

  // Bytes of what three_cells() writes, in their place.
  bool has(std::size_t offset, std::size_t count) const {
    const auto all = some_bytes(600);
    return holds(there_, offset, base::Bytes(all).subspan(offset, count));
  }

  StreamLine harness_{StreamHarness::reads(), StreamHarness::options(GetParam())};
  StreamMaker maker_{harness_};
  Memory& there_ = harness_.a().memory(100'000);
};

TEST_P(TableDTest, S002_23_without_the_last_bit_the_payload_is_placed) {
  const MemoryHandle handle = window();
  const auto cells = three_cells(handle);
  maker_.inject(cells[0]);
  EXPECT_TRUE(holds(there_, 0, some_bytes(256))) << "in order";
  maker_.inject(cells[1]);
  EXPECT_TRUE(holds(there_, 0, some_bytes(512)));
  EXPECT_TRUE(is_valid(handle));
  EXPECT_FALSE(is_touched(handle));
}

TEST_P(TableDTest, S002_23_without_the_last_bit_an_early_payload_is_placed_at_once) {
  const MemoryHandle handle = window();
  const auto cells = three_cells(handle);
  maker_.inject(cells[1]);
  EXPECT_TRUE(has(256, 256));
  EXPECT_TRUE(is_valid(handle));
  EXPECT_FALSE(is_touched(handle));
  EXPECT_EQ(harness_.count_a(StreamCounter::kEarly), 1U);
}

TEST_P(TableDTest, S002_23_with_the_last_bit_and_many_touches_it_is_placed_each_time) {
  const MemoryHandle handle = window(false);
  for (const std::size_t seed : {1U, 2U, 3U}) {
    maker_.inject(three_cells(handle, seed));
    EXPECT_TRUE(holds(there_, 0, some_bytes(600, seed)));
  }
  EXPECT_TRUE(is_valid(handle));
  EXPECT_FALSE(is_touched(handle));
}

TEST_P(TableDTest, X_19_S002_23_without_the_last_bit_it_is_placed_also_when_touched) {
  const MemoryHandle handle = window();
  const auto first = three_cells(handle, 1);
  const auto second = three_cells(handle, 2);
  maker_.inject(first[2]);
  ASSERT_TRUE(is_touched(handle));
  maker_.inject(second[0]);  // early, of another packet
  EXPECT_TRUE(holds(there_, 0, some_bytes(256, 2)));
  EXPECT_TRUE(is_valid(handle));
  EXPECT_TRUE(is_up());
}

TEST_P(TableDTest, S002_24_last_and_touched_ends_the_entry_and_the_stream) {
  harness_.b().tap.is_recording = true;
  const MemoryHandle handle = window();
  const auto first = three_cells(handle, 1);
  const auto second = three_cells(handle, 2);
  maker_.inject(first[2]);
  ASSERT_TRUE(is_touched(handle));
  maker_.inject(second[2]);
  harness_.settle();
  EXPECT_FALSE(is_valid(handle));
  EXPECT_TRUE(has(512, 88)) << "the second is not placed";
  EXPECT_TRUE(harness_.are_both_down());
  ASSERT_TRUE(harness_.terminate_at_b());
  EXPECT_EQ(harness_.terminate_at_b()->cause, TerminateCause::kInvalidTag);
  EXPECT_EQ(harness_.terminate_at_b()->check, 'a');
  EXPECT_EQ(harness_.terminate_at_b()->handle, handle);
}

TEST_P(TableDTest, S002_24_an_entry_that_another_queue_pair_touched_ends_too) {
  const MemoryHandle handle = window();
  ASSERT_TRUE(table().one_touch().touch(handle, Qpn(77), Psn(1)));
  maker_.inject(maker_.write(handle, there_.start, some_bytes(100)));
  EXPECT_FALSE(is_valid(handle));
  EXPECT_FALSE(is_up());
  EXPECT_TRUE(there_.is_zero());
}

// The gap is filled, the first packet ends the entry, and only then the second comes.
TEST_P(TableDTest, S002_24_a_second_packet_after_the_first_was_complete_ends_the_stream) {
  const MemoryHandle handle = window();
  maker_.inject(three_cells(handle, 1));
  EXPECT_FALSE(is_valid(handle));
  const auto before = there_.bytes;
  maker_.inject(three_cells(handle, 2));
  harness_.settle();
  EXPECT_EQ(there_.bytes, before);
  EXPECT_TRUE(harness_.are_both_down());
}

TEST_P(TableDTest, S002_25_last_and_in_order_is_placed_and_ends_the_entry) {
  const MemoryHandle handle = window();
  const auto cells = three_cells(handle);
  maker_.inject({cells[0], cells[1]});
  EXPECT_TRUE(is_valid(handle));
  maker_.inject(cells[2]);
  EXPECT_TRUE(holds(there_, 0, some_bytes(600)));
  EXPECT_FALSE(is_valid(handle));
  EXPECT_EQ(harness_.sa().expected_number(), maker_.number);
  EXPECT_TRUE(is_up());
  // It is repeated: not in the window any more, so no access.
  maker_.inject(cells[2]);
  EXPECT_TRUE(is_up());
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropOld), 1U);
}

TEST_P(TableDTest, S002_25_a_packet_of_one_cell_is_last_too) {
  const MemoryHandle handle = window();
  maker_.inject(maker_.write(handle, there_.start, some_bytes(100)));
  EXPECT_TRUE(holds(there_, 0, some_bytes(100)));
  EXPECT_FALSE(is_valid(handle));
}

TEST_P(TableDTest,
       S002_26_last_before_the_middle_is_placed_and_the_entry_ends_when_the_gap_is_filled) {
  const MemoryHandle handle = window();
  const auto cells = three_cells(handle);
  const StreamNumber last_byte = maker_.number - 1;
  maker_.inject(cells[0]);
  maker_.inject(cells[2]);
  EXPECT_TRUE(has(512, 88)) << "placed at once";
  EXPECT_TRUE(is_touched(handle));
  EXPECT_EQ(table().entry(handle)->stored_ddp_sn, last_byte.value);
  EXPECT_TRUE(is_valid(handle)) << "until the gap is filled";
  maker_.inject(cells[1]);
  EXPECT_FALSE(is_valid(handle)) << "right after";
  EXPECT_TRUE(holds(there_, 0, some_bytes(600)));
  EXPECT_EQ(harness_.sa().expected_number(), maker_.number);
  EXPECT_TRUE(is_up());
}

TEST_P(TableDTest, S002_26_the_repetition_of_an_early_last_cell_is_no_second_touch) {
  const MemoryHandle handle = window();
  const auto cells = three_cells(handle);
  maker_.inject({cells[0], cells[2], cells[2]});
  EXPECT_TRUE(is_up());
  EXPECT_TRUE(is_valid(handle));
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropOld), 1U);
  maker_.inject({cells[0], cells[1], cells[2]});
  EXPECT_FALSE(is_valid(handle));
  EXPECT_TRUE(is_up());
}

TEST_P(TableDTest, S002_26_a_stream_that_ends_before_the_gap_is_filled_ends_the_entry) {
  const MemoryHandle handle = window();
  const auto cells = three_cells(handle);
  maker_.inject(cells[2]);
  ASSERT_TRUE(is_valid(handle));
  harness_.sa().enter_error();
  EXPECT_FALSE(is_valid(handle));
}

TEST_P(TableDTest, S002_22_a_stream_that_ends_in_mid_response_ends_the_entry_that_is_read) {
  const MemoryHandle handle = window();
  const Memory as_window{.bytes = {}, .handle = handle, .start = there_.start};
  maker_.inject(maker_.read_request(as_window, 1000, 1, harness_.b().memory(1000)));
  ASSERT_TRUE(is_touched(handle));
  ASSERT_TRUE(is_valid(handle));
  harness_.sa().enter_error();
  EXPECT_FALSE(is_valid(handle));
}

// An idata that came early is indicated in order.
TEST_P(TableDTest, S002_26_the_idata_of_an_early_packet_waits_for_its_place_in_order) {
  const MemoryHandle handle = window();
  ASSERT_TRUE(harness_.a().post_recv(harness_.qa, {}, 5));
  const auto cells = maker_.write(handle, there_.start, some_bytes(600), 0xABCD);
  maker_.inject({cells[1], cells[2]});
  EXPECT_TRUE(harness_.a().received.empty());
  maker_.inject(cells[0]);
  ASSERT_EQ(harness_.a().received.size(), 1U);
  EXPECT_EQ(harness_.a().received[0].op, WcOp::kReceiveRdmaIdata);
  EXPECT_EQ(harness_.a().received[0].idata, 0xABCDU);
  EXPECT_EQ(harness_.a().received[0].address, there_.start);
  EXPECT_EQ(harness_.a().received[0].bytes, 600U);
}

TEST_P(TableDTest, S002_27_last_and_beyond_the_window_is_dropped) {
  const MemoryHandle handle = window();
  // The cell is 140 bytes: VA/MH 16, STREAM 4, header and CRC 32, payload 88.
  const StreamNumber first = harness_.sa().expected_number();
  const auto cell_at = [&](std::uint32_t distance) {
    StreamMaker maker(harness_);
    maker.number = first + distance;
    return maker.write(handle, there_.start, some_bytes(88))[0];
  };
  const std::uint32_t window_bytes = harness_.sa().window_bytes();
  maker_.inject(cell_at(window_bytes - 140 + 1));  // its last byte is one too far
  EXPECT_TRUE(there_.is_zero());
  EXPECT_FALSE(is_touched(handle));
  EXPECT_TRUE(is_valid(handle));
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropWindow), 1U);
  maker_.inject(cell_at(0x80000000U + 1000));  // far behind
  EXPECT_TRUE(there_.is_zero());
  EXPECT_EQ(harness_.count_a(StreamCounter::kDropOld), 1U);
  EXPECT_TRUE(is_up());
  maker_.inject(cell_at(window_bytes - 140));  // the last one that fits
  EXPECT_TRUE(holds(there_, 0, some_bytes(88)));
  EXPECT_TRUE(is_touched(handle));
}

// The last cell comes too far ahead once, and then as the sender has it, which keeps to the window.
TEST_P(TableDTest, S002_27_what_was_dropped_is_placed_when_it_comes_within_the_window) {
  StreamInit narrow = StreamHarness::reads();
  narrow.window_bytes = 2000;
  StreamHarness harness(narrow, StreamHarness::reads(), StreamHarness::options(GetParam()));
  ASSERT_TRUE(harness.connect());
  Memory& from = harness.b().memory(50'000, 3);
  Memory& to = harness.a().memory(50'000);
  const MemoryHandle handle =
      harness.a()
          .adapter->memory()
          .windows()
          .bind_window(harness.a().pd, to.handle, to.start, 50'000, kRemoteWrite, Qpn{})
          .value();
  const Mrwt& of_a = harness.a().adapter->memory();
  harness.a().adapter->memory().one_touch().enable(handle);
  StreamMaker maker(harness);
  maker.inject(maker.write(handle, to.start, from.bytes).back());
  EXPECT_EQ(harness.count_a(StreamCounter::kDropWindow), 1U);
  EXPECT_TRUE(to.is_zero());
  EXPECT_FALSE(of_a.entry(handle)->touched);
  harness.a().faults.set_config({.loss_ppm = 100'000});
  ASSERT_TRUE(harness.b().post_write(harness.qb, {from.sge()}, to.start, handle));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
  EXPECT_FALSE(of_a.entry(handle)->is_valid);
  EXPECT_EQ(harness.count_a(StreamCounter::kDropWindow), 1U) << "no other one came too far ahead";
}

INSTANTIATE_TEST_SUITE_P(Profiles, TableDTest,
                         ::testing::Values(MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows));

// A window each for many writes; each ends with its write, whatever gets lost on the way.
TEST(StreamOneTouchTest, S002_26_each_window_takes_its_packet_once_over_a_bad_path) {
  StreamLine harness;
  harness.a().faults.set_config(
      {.loss_ppm = 30'000, .duplicate_ppm = 50'000, .reorder_ppm = 100'000});
  constexpr std::size_t kPackets = 100;
  constexpr std::size_t kPart = 3000;
  Memory& from = harness.b().memory(kPackets * kPart, 3);
  Memory& to = harness.a().memory(kPackets * kPart);
  Mrwt& table = harness.a().adapter->memory();
  std::vector<MemoryHandle> windows;
  for (std::size_t i = 0; i < kPackets; ++i) {
    windows.push_back(table.windows()
                          .bind_window(harness.a().pd, to.handle, to.at(i * kPart), kPart,
                                       kRemoteWrite, harness.qa)
                          .value());
    table.one_touch().enable(windows.back());
    ASSERT_TRUE(harness.b().post_write(harness.qb, {from.sge(i * kPart, kPart)}, to.at(i * kPart),
                                       windows.back(), i));
  }
  ASSERT_TRUE(harness.run_sent(kPackets));
  for (const Wc& wc : harness.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
  for (const MemoryHandle handle : windows) EXPECT_FALSE(table.entry(handle)->is_valid);
  EXPECT_GT(harness.count_a(StreamCounter::kEarly), 0U);
}

TEST(StreamOneTouchTest, S002_22_a_window_that_is_read_ends_with_its_response) {
  StreamLine harness;
  Memory& there = harness.a().memory(5000, 4);
  Memory& into = harness.b().memory(5000);
  Mrwt& table = harness.a().adapter->memory();
  const MemoryHandle handle =
      table.windows()
          .bind_window(harness.a().pd, there.handle, there.start, 5000, kRemoteRead, Qpn{})
          .value();
  table.one_touch().enable(handle);
  const Memory as_window{.bytes = {}, .handle = handle, .start = there.start};
  std::size_t responses = 0;
  harness.b().faults.drop_received([&](base::Bytes) { return ++responses == 4; });
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, as_window));
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kSuccess) << "a lost cell is repeated";
  EXPECT_EQ(into.bytes, there.bytes);
  harness.settle();
  EXPECT_FALSE(table.entry(handle)->is_valid);
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, as_window));
  ASSERT_TRUE(harness.run_sent(2));
  EXPECT_EQ(harness.b().sent[1].status, WcStatus::kRemoteAccess);
}

// The handle stays, and belongs to another operation from the bind on.
TEST(StreamOneTouchTest, S000_25_a_key_that_is_bound_again_is_not_for_the_response_in_flight) {
  StreamLine harness;
  Mrwt& table = harness.a().adapter->memory();
  Memory& from = harness.a().memory(5000, 3);
  Memory& into = harness.b().memory(5000);
  const PdId pd = harness.a().pd;
  const MemoryHandle key = table.windows().reserve_window(pd).value();
  const auto bind = [&] {
    EXPECT_FALSE(table.windows().clear_window(pd, key));
    EXPECT_FALSE(table.windows().bind_reserved(pd, key, from.handle, from.start, from.bytes.size(),
                                               kRemoteRead, Qpn{}));
    table.one_touch().enable(key);
  };
  bind();
  const Memory as_window{.bytes = {}, .handle = key, .start = from.start};
  std::size_t responses = 0;
  harness.b().faults.drop_received([&](base::Bytes) { return ++responses > 4; });
  ASSERT_TRUE(post_read(harness.b(), harness.qb, {into.sge()}, as_window));
  ASSERT_TRUE(harness.pair.run_until([&] { return !into.is_zero(); }));
  ASSERT_TRUE(harness.b().sent.empty());
  bind();
  harness.b().faults.drop_received({});
  ASSERT_TRUE(harness.run_sent(1));
  EXPECT_EQ(harness.b().sent[0].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(into.bytes.back(), std::byte{0});
  EXPECT_FALSE(table.entry(key)->touched);
}

}  // namespace splitnic::fabric::testing::stream_one_touch_test
