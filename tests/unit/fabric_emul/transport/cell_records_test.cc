#include "fabric_emul/transport/cell_records.h"

#include <gtest/gtest.h>

namespace splitnic::fabric::testing::cell_records_test {

using namespace std::chrono_literals;

constexpr base::Time at(int ms) { return base::Time{} + std::chrono::milliseconds(ms); }

// Cells of 1000 bytes from LCN 10 on, sent 1 ms apart from 1 ms on.
struct Sent {
  explicit Sent(std::size_t cells, Lcn first = Lcn(10)) {
    records.reserve(64);
    records.start(first);
    for (std::size_t i = 0; i < cells; ++i) send();
  }
  void send(std::uint8_t path = 0) {
    ++now_ms;
    records.push(0, 0, 1000, at(now_ms), path);
  }
  AckExt bitmap(std::uint32_t word) const {
    AckExt ack;
    ack.bitmap_words = 1;
    ack.bitmap[0] = word;
    return ack;
  }
  CellRecords records;
  RetransmitTimer timer{5s};
  int now_ms = 0;
};

TEST(CellRecordsTest, a_cumulative_ack_takes_the_oldest_and_gives_the_rtt_of_the_last) {
  Sent s(5);
  EXPECT_EQ(s.records.newly_acknowledged(Lcn(12)), 3U);
  const auto acked = s.records.acknowledge(3, at(13), s.timer);
  EXPECT_EQ(acked.bytes, 3000U);
  EXPECT_EQ(acked.cells, 3U);
  EXPECT_EQ(acked.rtt, 10ms);
  EXPECT_EQ(s.records.oldest(), Lcn(13));
  EXPECT_EQ(s.records.next(), Lcn(15));
  EXPECT_EQ(s.records.bytes_in_flight(), 2000U);
}

TEST(CellRecordsTest, T_24_an_ack_that_is_old_or_of_the_future_covers_nothing) {
  Sent s(5);
  EXPECT_EQ(s.records.newly_acknowledged(Lcn(9)), 0U);
  EXPECT_FALSE(s.records.newly_acknowledged(Lcn(8)));
  EXPECT_EQ(s.records.newly_acknowledged(Lcn(14)), 5U);
  EXPECT_FALSE(s.records.newly_acknowledged(Lcn(15)));
}

TEST(CellRecordsTest, numbers_may_wrap) {
  Sent s(4, Lcn(0xFFFE));
  EXPECT_EQ(s.records.newly_acknowledged(Lcn(0)), 3U);
  s.records.acknowledge(3, at(9), s.timer);
  EXPECT_EQ(s.records.oldest(), Lcn(1));
}

TEST(CellRecordsTest, a_cell_is_lost_when_one_sent_three_later_has_arrived) {
  for (const bool is_third : {false, true}) {
    Sent s(5);
    // Bit i is cell i + 1: the cell sent two or three after the oldest.
    const auto acked =
        s.records.acknowledge_bitmap(s.bitmap(is_third ? 0x20000000 : 0x40000000), at(9), s.timer);
    EXPECT_EQ(acked.cells, 1U);
    EXPECT_EQ(s.records.detect_losses(acked.bitmap_end, 5ms).cells, is_third ? 1U : 0U);
    EXPECT_EQ(s.records.lost_count(), is_third ? 1U : 0U);
    EXPECT_EQ(s.records.bytes_in_flight(), is_third ? 3000U : 4000U);
  }
}

TEST(CellRecordsTest, a_retransmitted_cell_is_lost_once_more_when_later_cells_have_passed_it) {
  Sent s(5);
  const auto first = s.records.acknowledge_bitmap(s.bitmap(0x20000000), at(9), s.timer);
  ASSERT_EQ(s.records.detect_losses(first.bitmap_end, 5ms).cells, 1U);
  CellRecords::Record& oldest = s.records.oldest_lost();
  EXPECT_TRUE(s.records.is_oldest(oldest));
  s.records.on_retransmitted(oldest, at(10));
  EXPECT_EQ(s.records.lost_count(), 0U);
  for (int i = 0; i < 3; ++i) s.send();  // cells 5, 6 and 7
  EXPECT_EQ(s.records.detect_all_losses(5ms).cells, 0U);
  const auto later = s.records.acknowledge_bitmap(s.bitmap(0x20000000 >> 4), at(12), s.timer);
  EXPECT_EQ(later.cells, 1U);
  EXPECT_EQ(s.records.detect_losses(1, 5ms).cells, 1U) << "the retransmission is lost too";
}

// Cells of two paths in turn, from 1 ms on. The odd ones arrive.
TEST(CellRecordsTest, S000_46_a_cell_is_not_overtaken_by_those_of_another_path) {
  Sent s(0);
  for (std::uint8_t i = 0; i < 12; ++i) s.send(i % 2);
  EXPECT_EQ(s.records.bytes_in_flight_by_path()[0], 6000U);
  const auto acked = s.records.acknowledge_bitmap(s.bitmap(0xAAA00000), at(20), s.timer);
  ASSERT_EQ(acked.cells, 6U);
  EXPECT_EQ(acked.paths, 2U);
  EXPECT_EQ(s.records.bytes_in_flight_by_path()[1], 0U);
  EXPECT_EQ(s.records.detect_losses(acked.bitmap_end, 0ms).cells, 0U) << "no round trip is known";
  EXPECT_EQ(s.records.detect_losses(acked.bitmap_end, 11ms).cells, 0U);
}

// The third of path 0, with two of path 1 between, which have not arrived: one more may be
// overtaken.
TEST(CellRecordsTest, S000_46_only_those_of_its_path_have_passed_a_cell) {
  for (const bool is_fourth : {false, true}) {
    Sent s(0);
    for (std::uint8_t i = 0; i < 12; ++i) s.send(i % 2);
    const auto acked = s.records.acknowledge_bitmap(s.bitmap(is_fourth ? 0x04000000 : 0x10000000),
                                                    at(20), s.timer);
    EXPECT_EQ(s.records.detect_losses(acked.bitmap_end, 0ms).cells, is_fourth ? 1U : 0U);
  }
}

// Those of the other path that arrived were sent a round trip later: the path carries nothing.
TEST(CellRecordsTest, S000_47_a_cell_of_a_silent_path_is_lost_after_a_round_trip) {
  Sent s(0);
  for (std::uint8_t i = 0; i < 12; ++i) s.send(i % 2);
  const auto acked = s.records.acknowledge_bitmap(s.bitmap(0xAAA00000), at(20), s.timer);
  const auto lost = s.records.detect_losses(acked.bitmap_end, 6ms);
  EXPECT_EQ(lost.cells, 3U);  // sent at 1, 3 and 5 ms, the newest that arrived at 12
  EXPECT_EQ(lost.silent, 1U);
  EXPECT_EQ(s.records.bytes_in_flight_by_path()[0], 3000U);
  while (s.records.lost_count() > 0) {
    s.records.on_retransmitted(s.records.oldest_lost(), at(21), 1);
  }
  EXPECT_EQ(s.records.bytes_in_flight_by_path()[1], 3000U);
}

TEST(CellRecordsTest, S000_47_a_timeout_loses_all_of_a_silent_path) {
  for (const bool has_later_arrived : {false, true}) {
    Sent s(0);
    for (std::uint8_t i = 0; i < 12; ++i) s.send(i % 2);
    // Of path 1 the odd ones, or of path 0 the third: then it is not silent.
    s.records.acknowledge_bitmap(s.bitmap(has_later_arrived ? 0xAAA00000 : 0x10000000), at(20),
                                 s.timer);
    EXPECT_EQ(s.records.lose_at_timeout(), has_later_arrived ? 1U : 0U);
    EXPECT_EQ(s.records.lost_count(), has_later_arrived ? 6U : 1U);
  }
}

// Other paths carry nothing that was sent behind them: nothing came by this one from a timeout to
// the next.
TEST(CellRecordsTest, S000_47_a_second_timeout_loses_all_of_a_path) {
  Sent s(0);
  s.send(0);
  for (int i = 0; i < 8; ++i) s.send(1);
  s.records.acknowledge(1, at(20), s.timer);
  EXPECT_EQ(s.records.lose_at_timeout(), 2U);
  EXPECT_EQ(s.records.lost_count(), 1U);
  EXPECT_EQ(s.records.lose_at_timeout(), 2U);
  EXPECT_EQ(s.records.lost_count(), 8U);
}

// The second of three cells has arrived, and nothing from the first timeout to the next: the path
// is silent, because nothing has arrived behind the third.
TEST(CellRecordsTest, S000_47_a_path_is_silent_behind_what_has_arrived) {
  Sent s(0);
  for (int i = 0; i < 3; ++i) s.send(0);
  s.send(1);
  s.records.acknowledge_bitmap(s.bitmap(0x80000000), at(20), s.timer);
  EXPECT_EQ(s.records.lose_at_timeout(), 0U);
  EXPECT_EQ(s.records.lost_count(), 1U);
  EXPECT_EQ(s.records.lose_at_timeout(), 1U);
  EXPECT_EQ(s.records.lost_count(), 2U);
}

// A path that carries what was sent behind the lost cell is as good as before.
TEST(CellRecordsTest, a_path_that_lost_one_cell_is_not_silent) {
  Sent s(0);
  for (std::uint8_t i = 0; i < 12; ++i) s.send(i % 2);
  // The second to fourth cell of path 0 too.
  const auto acked = s.records.acknowledge_bitmap(s.bitmap(0xFF000000), at(20), s.timer);
  const auto lost = s.records.detect_losses(acked.bitmap_end, 100ms);
  EXPECT_EQ(lost.cells, 1U);
  EXPECT_EQ(lost.silent, 0U);
}

TEST(CellRecordsTest, no_rtt_of_a_cell_that_was_sent_twice_or_before_a_timeout) {
  Sent s(5);
  s.timer.on_timeout(at(6));
  EXPECT_FALSE(s.records.acknowledge(1, at(9), s.timer).rtt) << "sent before the timeout";
  s.records.lose_oldest();
  s.records.on_retransmitted(s.records.oldest_lost(), at(10));
  EXPECT_FALSE(s.records.acknowledge(1, at(12), s.timer).rtt) << "sent twice";
  s.now_ms = 12;
  s.send();
  EXPECT_EQ(s.records.acknowledge(4, at(15), s.timer).rtt, 2ms);
}

TEST(CellRecordsTest, cells_that_a_go_back_returned_may_arrive_after_all) {
  Sent s(5);
  s.records.go_back();
  EXPECT_TRUE(s.records.repeats_next());
  EXPECT_EQ(s.records.next(), Lcn(10));
  EXPECT_EQ(s.records.bytes_in_flight(), 0U);
  s.send();
  EXPECT_EQ(s.records.newly_acknowledged(Lcn(13)), 4U) << "one of them has a record";
  EXPECT_EQ(s.records.acknowledge(4, at(9), s.timer).cells, 1U);
  EXPECT_EQ(s.records.next(), Lcn(14));
  EXPECT_TRUE(s.records.has_unacknowledged());
  s.records.acknowledge(1, at(9), s.timer);
  EXPECT_FALSE(s.records.has_unacknowledged());
}

TEST(CellRecordsTest, a_peer_that_drops_the_oldest_has_dropped_all_reported_cells) {
  Sent s(4);
  s.records.acknowledge_bitmap(s.bitmap(0x60000000), at(9), s.timer);  // the last two
  s.records.acknowledge(2, at(9), s.timer);
  EXPECT_EQ(s.records.bytes_in_flight(), 0U);
  s.records.lose_oldest();
  EXPECT_EQ(s.records.lost_count(), 2U);
}

// The oldest was lost, those behind it were reported, and the oldest is refused when it comes
// [P-RC-16].
TEST(CellRecordsTest, T_17_a_peer_that_refuses_the_oldest_may_have_dropped_all_reported_cells) {
  Sent s(4);
  s.records.acknowledge_bitmap(s.bitmap(0x60000000), at(9), s.timer);  // the last two
  ASSERT_EQ(s.records.lost_count(), 0U);
  s.records.lose_reported();
  s.records.lose_oldest();
  EXPECT_EQ(s.records.lost_count(), 3U);
  EXPECT_EQ(s.records.bytes_in_flight(), 1000U) << "the second is still in flight";
}

TEST(CellRecordsTest, a_timeout_loses_the_oldest_and_some_more) {
  Sent s(5);
  s.records.acknowledge_bitmap(s.bitmap(0x80000000), at(9), s.timer);
  s.records.lose_oldest();
  s.records.lose_some(2);
  EXPECT_EQ(s.records.lost_count(), 3U) << "the second has arrived, the last is still in flight";
  EXPECT_EQ(s.records.bytes_in_flight(), 1000U);
}

// Cells that have arrived stay so, and cells of other paths are in flight.
TEST(CellRecordsTest, S000_47_a_path_that_is_gone_loses_all_that_is_in_flight_by_it) {
  Sent s(0);
  for (const int path : {0, 2, 2, 0, 2, 3}) s.send(static_cast<std::uint8_t>(path));
  s.records.acknowledge_bitmap(s.bitmap(0x80000000), at(9), s.timer);
  s.records.lose_paths(1U << 2);
  EXPECT_EQ(s.records.lost_count(), 2U);
  EXPECT_EQ(s.records.bytes_in_flight(), 3000U);
  EXPECT_EQ(s.records.bytes_in_flight_by_path()[2], 0U);
  s.records.on_retransmitted(s.records.oldest_lost(), at(10), 0);
  s.records.lose_paths(1U << 2 | 1U << 3);
  EXPECT_EQ(s.records.lost_count(), 2U);
  EXPECT_EQ(s.records.bytes_in_flight_by_path()[0], 3000U);
}

}  // namespace splitnic::fabric::testing::cell_records_test
