#include "fabric_emul/stream/receive_window.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace splitnic::fabric {
namespace receive_window_test {

EarlyCell early(std::uint32_t number, std::uint32_t bytes) {
  EarlyCell out;
  out.number = StreamNumber(number);
  out.bytes = bytes;
  return out;
}
StreamPlace place(const ReceiveWindow& window, std::uint32_t number, std::uint32_t bytes) {
  return window.place_of(StreamNumber(number), bytes);
}

TEST(ReceiveWindow, S002_27_the_borders_of_the_window_also_where_numbers_wrap) {
  for (const std::uint32_t first : {0U, 1000U, 0xFFFFFF00U, 0x7FFFFFFFU, 0x80000000U}) {
    ReceiveWindow window(1000, 4);
    window.start(StreamNumber(first));
    EXPECT_EQ(place(window, first, 50), StreamPlace::kInOrder);
    EXPECT_EQ(place(window, first, 1000), StreamPlace::kInOrder);
    EXPECT_EQ(place(window, first, 1001), StreamPlace::kOutside);
    EXPECT_EQ(place(window, first + 1, 50), StreamPlace::kEarly);
    EXPECT_EQ(place(window, first + 950, 50), StreamPlace::kEarly);
    EXPECT_EQ(place(window, first + 951, 50), StreamPlace::kOutside);
    EXPECT_TRUE(window.is_beyond(StreamNumber(first + 951), 50));
    EXPECT_EQ(place(window, first - 1, 50), StreamPlace::kOutside);
    EXPECT_FALSE(window.is_beyond(StreamNumber(first - 1), 50));
    EXPECT_EQ(place(window, first + 0x80000000U, 50), StreamPlace::kOutside);
  }
}

TEST(ReceiveWindow, S002_26_bytes_that_were_taken_early_are_outside) {
  ReceiveWindow window(1000, 4);
  window.start(StreamNumber(0));
  window.keep(early(100, 50));
  EXPECT_EQ(place(window, 100, 50), StreamPlace::kOutside);
  EXPECT_EQ(place(window, 51, 50), StreamPlace::kOutside) << "its last byte";
  EXPECT_EQ(place(window, 50, 50), StreamPlace::kEarly);
  EXPECT_EQ(place(window, 149, 10), StreamPlace::kOutside) << "its first byte";
  EXPECT_EQ(place(window, 150, 10), StreamPlace::kEarly);
  EXPECT_EQ(place(window, 0, 101), StreamPlace::kOutside);
  EXPECT_EQ(place(window, 0, 100), StreamPlace::kInOrder);
  EXPECT_FALSE(window.is_beyond(StreamNumber(100), 50));
}

TEST(ReceiveWindow, early_cells_are_due_in_order) {
  ReceiveWindow window(1000, 3);
  window.start(StreamNumber(0xFFFFFFF0U));
  window.keep(early(0x20, 16));
  window.keep(early(0, 16));
  window.keep(early(0x10, 16));
  EXPECT_FALSE(window.has_room());
  EXPECT_EQ(window.due(), nullptr);
  window.advance(16);
  for (const std::uint32_t number : {0U, 0x10U, 0x20U}) {
    ASSERT_NE(window.due(), nullptr);
    EXPECT_EQ(window.due()->number, StreamNumber(number));
    window.pop_due();
    window.advance(16);
  }
  EXPECT_EQ(window.due(), nullptr);
  EXPECT_EQ(window.early_count(), 0U);
}

// Against a plain set of the bytes that were taken.
TEST(ReceiveWindow, random_cells_against_a_plain_model) {
  base::SeededRandom random(5);
  for (int run = 0; run < 200; ++run) {
    const std::uint32_t first = random.next32();
    ReceiveWindow window(200, 8);
    window.start(StreamNumber(first));
    std::set<std::uint32_t> taken;  // distances from `first`
    std::uint32_t expected = 0;
    for (int step = 0; step < 100; ++step) {
      const auto bytes = static_cast<std::uint32_t>(random.below(30) + 1);
      const auto ahead = static_cast<std::uint32_t>(random.below(4) == 0 ? 0 : random.below(220));
      const std::uint32_t at = expected + ahead;
      bool is_free = ahead + bytes <= 200;
      for (std::uint32_t i = at; i < at + bytes; ++i) is_free &= !taken.contains(i);
      const StreamPlace wanted = !is_free     ? StreamPlace::kOutside
                                 : ahead == 0 ? StreamPlace::kInOrder
                                              : StreamPlace::kEarly;
      ASSERT_EQ(place(window, first + at, bytes), wanted);
      if (wanted == StreamPlace::kOutside) continue;
      if (wanted == StreamPlace::kEarly && !window.has_room()) continue;
      for (std::uint32_t i = at; i < at + bytes; ++i) taken.insert(i);
      if (wanted == StreamPlace::kEarly) {
        window.keep(early(first + at, bytes));
        continue;
      }
      window.advance(bytes);
      while (const EarlyCell* due = window.due()) {
        const std::uint32_t more = due->bytes;
        window.pop_due();
        window.advance(more);
      }
      while (taken.contains(expected)) ++expected;
      ASSERT_EQ(window.expected(), StreamNumber(first + expected));
    }
  }
}

}  // namespace receive_window_test
}  // namespace splitnic::fabric
