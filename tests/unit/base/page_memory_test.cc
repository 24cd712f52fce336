#include "base/page_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>

#include "tests/support/resident.h"

namespace splitnic::base {
namespace page_memory_test {

using splitnic::support::resident;

TEST(PageMemoryTest, begins_as_zeros_that_cost_nothing) {
  PageMemory memory(1 << 20);
  EXPECT_EQ(resident(memory.span()), 0U);
  EXPECT_EQ(memory.get()[12345], std::byte{0});
}

TEST(PageMemoryTest, what_is_released_is_freed_and_reads_as_zeros) {
  PageMemory memory(1 << 20);
  std::ranges::fill(memory.span(), std::byte{7});
  EXPECT_EQ(resident(memory.span()), std::size_t{1} << 20);
  EXPECT_EQ(memory.release(0, 1 << 20), std::size_t{1} << 20);
  EXPECT_EQ(resident(memory.span()), 0U);
  EXPECT_EQ(memory.get()[5000], std::byte{0});
}

TEST(PageMemoryTest, pages_that_are_not_whole_in_the_range_stay) {
  const std::size_t page = PageMemory::page_bytes();
  PageMemory memory(8 * page);
  std::ranges::fill(memory.span(), std::byte{7});
  EXPECT_EQ(memory.release(1, page - 1), 0U);
  EXPECT_EQ(memory.release(page - 1, 3 * page), 2 * page);
  EXPECT_EQ(memory.release(0, 0), 0U);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory.get()[i], i / page == 1 || i / page == 2 ? std::byte{0} : std::byte{7}) << i;
  }
}

TEST(PageMemoryTest, the_end_counts_as_the_end_of_a_page) {
  const std::size_t page = PageMemory::page_bytes();
  PageMemory memory(page + 100);
  std::ranges::fill(memory.span(), std::byte{7});
  EXPECT_EQ(memory.release(page, 100), 100U);
  EXPECT_EQ(memory.get()[page], std::byte{0});
  EXPECT_EQ(memory.get()[page - 1], std::byte{7});
}

// Whether the system has huge pages or not: the same bytes, and small pages once some were
// released.
TEST(PageMemoryTest, huge_pages_change_nothing_but_speed) {
  constexpr std::size_t kHuge = 2 << 20;
  PageMemory memory(3 * kHuge + 100, PageMemory::Pages::kHuge);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % kHuge, 0U);
  EXPECT_EQ(memory.size(), 3 * kHuge + 100);
  std::ranges::fill(memory.span(), std::byte{7});
  EXPECT_EQ(memory.release(4096, kHuge), kHuge);
  EXPECT_EQ(memory.get()[4095], std::byte{7});
  EXPECT_EQ(memory.get()[4096], std::byte{0});
  EXPECT_EQ(memory.get()[4096 + kHuge], std::byte{7});
  EXPECT_EQ(memory.get()[memory.size() - 1], std::byte{7});
}

TEST(PageMemoryTest, F_52_no_memory_is_an_exception_or_an_error) {
  const std::size_t too_much = std::size_t{1} << 60;
  EXPECT_THROW(PageMemory memory(too_much), std::bad_alloc);
  const auto made = PageMemory::make(too_much);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().errno_value(), ENOMEM);
}

}  // namespace page_memory_test
}  // namespace splitnic::base
