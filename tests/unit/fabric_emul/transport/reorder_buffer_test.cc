#include "fabric_emul/transport/reorder_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "base/random.h"

namespace splitnic::fabric::reorder_buffer_test {

using Put = ReorderBuffer::Put;

std::vector<std::byte> cell(std::size_t n) {
  return std::vector<std::byte>(n % 50 + 1, static_cast<std::byte>(n));
}

TEST(ReorderBufferTest, S000_15_keeps_what_came_early) {
  ReorderBuffer buffer(8, 64, 1024);
  EXPECT_EQ(buffer.put(2, cell(2)), Put::kStored);
  EXPECT_EQ(buffer.put(2, cell(2)), Put::kDuplicate);
  EXPECT_EQ(buffer.put(1, cell(1)), Put::kStored);
  EXPECT_EQ(buffer.put(0, cell(0)), Put::kOutsideWindow);
  EXPECT_EQ(buffer.put(8, cell(8)), Put::kOutsideWindow);
  EXPECT_EQ(buffer.put(7, std::vector<std::byte>(65)), Put::kOutsideWindow) << "too long";
  EXPECT_FALSE(buffer.has(0));
  buffer.advance();
  ASSERT_TRUE(buffer.has(0));
  EXPECT_TRUE(std::ranges::equal(buffer.expected(), cell(1)));
  buffer.advance();
  EXPECT_TRUE(std::ranges::equal(buffer.expected(), cell(2)));
  buffer.advance();
  EXPECT_TRUE(buffer.empty());
  EXPECT_FALSE(buffer.has(0));
}

TEST(ReorderBufferTest, S000_15_X_40_is_bounded_in_bytes_and_uses_memory_again) {
  ReorderBuffer buffer(64, 100, 300);
  EXPECT_EQ(buffer.put(5, cell(5)), Put::kStored);
  EXPECT_EQ(buffer.put(6, cell(6)), Put::kStored);
  EXPECT_EQ(buffer.put(7, cell(7)), Put::kStored);
  EXPECT_EQ(buffer.put(8, cell(8)), Put::kFull);
  buffer.clear();
  EXPECT_EQ(buffer.count(), 0U);
  for (std::size_t d = 1; d <= 3; ++d) EXPECT_EQ(buffer.put(d, cell(d)), Put::kStored);
  for (int i = 0; i < 4; ++i) buffer.advance();
  EXPECT_EQ(buffer.put(1, cell(1)), Put::kStored);
}

TEST(ReorderBufferTest, M_1_memory_is_returned_when_no_cell_waits_any_more) {
  constexpr std::size_t kChunk = 1024;
  constexpr std::size_t kCells = 2 * ReorderBuffer::kKeptBytes / kChunk;
  base::MemoryAccount account(1 << 20);
  {
    ReorderBuffer buffer(1024, kChunk, 1 << 20, &account);
    EXPECT_EQ(account.used(), 0U);
    for (std::size_t d = 1; d <= kCells; ++d) ASSERT_EQ(buffer.put(d, cell(d)), Put::kStored);
    EXPECT_EQ(account.used(), kCells * kChunk);
    const auto advance = [&](std::size_t times) {
      for (std::size_t i = 0; i < times; ++i) buffer.advance();
    };
    advance(kCells + ReorderBuffer::kCalmCells - 1);
    EXPECT_EQ(account.used(), kCells * kChunk) << "the next cell may come early";
    ASSERT_EQ(buffer.put(1, cell(1)), Put::kStored);
    advance(ReorderBuffer::kCalmCells);
    EXPECT_EQ(account.used(), kCells * kChunk) << "one did";
    advance(2);
    EXPECT_EQ(account.used(), ReorderBuffer::kKeptBytes);
    ASSERT_EQ(buffer.put(1, cell(1)), Put::kStored);
    EXPECT_EQ(account.used(), ReorderBuffer::kKeptBytes) << "what was kept is used first";
    for (std::size_t d = 2; d <= kCells; ++d) ASSERT_EQ(buffer.put(d, cell(d)), Put::kStored);
    buffer.clear();
    EXPECT_EQ(account.used(), ReorderBuffer::kKeptBytes);
  }
  EXPECT_EQ(account.used(), 0U);
}

TEST(ReorderBufferTest, M_1_cells_that_are_taken_in_a_run_count_as_those_taken_one_by_one) {
  constexpr std::size_t kChunk = 1024;
  constexpr std::size_t kCells = 2 * ReorderBuffer::kKeptBytes / kChunk;
  base::MemoryAccount account(1 << 20);
  ReorderBuffer buffer(1024, kChunk, 1 << 20, &account);
  for (std::size_t d = 1; d <= kCells; ++d) ASSERT_EQ(buffer.put(d, cell(d)), Put::kStored);
  for (std::size_t d = 0; d <= kCells; ++d) buffer.advance();
  ASSERT_TRUE(buffer.empty());
  buffer.advance_empty(ReorderBuffer::kCalmCells - 2);
  EXPECT_EQ(account.used(), kCells * kChunk);
  buffer.advance_empty(20);
  EXPECT_EQ(account.used(), ReorderBuffer::kKeptBytes);
  EXPECT_EQ(buffer.put(1, cell(1)), Put::kStored);
  buffer.advance();
  EXPECT_TRUE(std::ranges::equal(buffer.expected(), cell(1)));
}

TEST(ReorderBufferTest, M_1_no_cell_is_kept_beyond_the_memory_of_the_peer) {
  base::MemoryAccount account(1000);
  ReorderBuffer buffer(64, 300, 1 << 20, &account);
  for (std::size_t d = 1; d <= 3; ++d) EXPECT_EQ(buffer.put(d, cell(d)), Put::kStored);
  EXPECT_EQ(buffer.put(4, cell(4)), Put::kNoMemory);
  EXPECT_FALSE(buffer.has(4));
  EXPECT_EQ(account.used(), 900U);
  EXPECT_EQ(account.refusals(), 1U);
  buffer.advance();
  buffer.advance();
  EXPECT_EQ(buffer.put(4, cell(4)), Put::kStored) << "in the memory of one that was taken";
}

TEST(ReorderBufferTest, S000_15_the_bitmap_counts_from_the_cell_behind_the_missing_one) {
  ReorderBuffer buffer(128, 64, 1 << 16);
  std::array<std::uint32_t, 3> words{};
  EXPECT_EQ(buffer.bitmap(words), 0U);
  buffer.put(1, cell(1));
  buffer.put(33, cell(33));
  buffer.put(70, cell(70));
  EXPECT_EQ(buffer.bitmap(words), 3U);
  EXPECT_EQ(words[0], 0x80000000U);
  EXPECT_EQ(words[1], 0x80000000U);
  EXPECT_EQ(words[2], 0x80000000U >> 5);
  EXPECT_EQ(buffer.bitmap(std::span(words).first(1)), 1U) << "as much as there is room for";
  buffer.advance();  // the missing one came
  buffer.advance();  // and the one that was kept
  EXPECT_EQ(buffer.bitmap(words), 3U);
  EXPECT_EQ(words[0], 0x80000000U >> 30);
}

// Against a map, while the ring wraps many times.
TEST(ReorderBufferTest, S000_15_the_same_as_a_map) {
  base::SeededRandom random(1);
  ReorderBuffer buffer(32, 64, 20 * 64);
  std::map<std::size_t, std::vector<std::byte>> model;
  std::size_t base = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random.below(3) == 0) {
      ASSERT_EQ(buffer.has(0), model.contains(base));
      if (model.contains(base)) {
        ASSERT_TRUE(std::ranges::equal(buffer.expected(), model[base]));
      }
      model.erase(base++);
      buffer.advance();
    } else {
      const std::size_t d = 1 + random.below(40);
      const Put expected = d >= 32                    ? Put::kOutsideWindow
                           : model.contains(base + d) ? Put::kDuplicate
                           : model.size() == 20       ? Put::kFull
                                                      : Put::kStored;
      ASSERT_EQ(buffer.put(d, cell(base + d)), expected);
      if (expected == Put::kStored) model[base + d] = cell(base + d);
    }
    ASSERT_EQ(buffer.count(), model.size());
    std::uint32_t word = 0;
    const unsigned words = buffer.bitmap({&word, 1});
    for (std::size_t i = 0; i < 31; ++i) {
      const bool set = words == 1 && (word & (0x80000000U >> i)) != 0;
      ASSERT_EQ(set, model.contains(base + 1 + i)) << step;
    }
  }
}

}  // namespace splitnic::fabric::reorder_buffer_test
