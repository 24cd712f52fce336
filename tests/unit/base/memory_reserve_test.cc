#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/page_memory.h"
#include "tests/support/address_space.h"
#include "tests/support/child.h"

namespace splitnic::base {
namespace memory_reserve_test {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr std::size_t kReserve = 8 << 20;

// Takes pieces until the reserve is in use.
std::vector<std::unique_ptr<char[]>> exhaust() {
  std::vector<std::unique_ptr<char[]>> pieces;
  pieces.reserve(1 << 16);
  while (!is_memory_short()) pieces.push_back(std::make_unique<char[]>(4000));
  return pieces;
}

// Exit statuses name the line that failed.
int use_and_restore() {
  if (is_memory_short()) return 1;
  hold_memory_reserve(kReserve);
  hold_memory_reserve(kReserve);
  if (is_memory_short() || !restore_memory_reserve()) return 2;
  if (!support::limit_address_space(2 << 20)) return 3;
  if (has_memory_for(4 << 20)) return 4;
  auto pieces = exhaust();
  // The program continues on the reserve.
  for (int i = 0; i < 1000; ++i) pieces.push_back(std::make_unique<char[]>(4000));
  if (restore_memory_reserve() || !is_memory_short()) return 5;
  if (!support::lift_address_space()) return 6;
  if (!restore_memory_reserve() || is_memory_short()) return 7;
  return has_memory_for(4 << 20) ? 0 : 8;
}

TEST(MemoryReserveTest, M_1_small_allocations_succeed_when_the_system_has_no_memory) {
  EXPECT_EQ(support::in_child(use_and_restore), 0);
}

int map_without_memory() {
  if (!support::limit_address_space(1 << 20)) return 1;
  const auto memory = PageMemory::make(64 << 20, PageMemory::Pages::kHuge);
  if (memory) return 2;
  return memory.error().errno_value() == ENOMEM ? 0 : 3;
}

TEST(MemoryReserveTest, M_1_pages_that_the_system_does_not_have_are_an_error) {
  EXPECT_EQ(support::in_child(map_without_memory), 0);
}

#endif

TEST(MemoryReserveTest, M_1_without_a_reserve_it_is_never_used) {
  EXPECT_FALSE(is_memory_short());
  EXPECT_TRUE(restore_memory_reserve());
  EXPECT_TRUE(has_memory_for(1 << 20));
}

TEST(PageMemoryTest, M_1_memory_that_is_moved_stays_where_it_is) {
  auto made = PageMemory::make(1 << 20);
  ASSERT_TRUE(made);
  std::byte* const at = made->get();
  at[100] = std::byte{7};
  PageMemory moved = *std::move(made);
  EXPECT_EQ(moved.get(), at);
  EXPECT_EQ(moved.size(), std::size_t{1} << 20);
  PageMemory none;
  EXPECT_EQ(none.size(), 0U);
  none = std::move(moved);
  EXPECT_EQ(none.get()[100], std::byte{7});
}

}  // namespace memory_reserve_test
}  // namespace splitnic::base
