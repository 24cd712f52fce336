// Faults of other registration caches: the cases of UCX (test_rcache) and of fabtests
// (mr_test, mr_cache_evict), by their names; and M-13, memory that goes away.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "tests/unit/fabric_emul/regcache/registration_fixture.h"

namespace splitnic::fabric {
namespace registration_cases_test {

using namespace registration_fixture;
using fabric::AccessKind;
using fabric::MemoryHandle;

class RegistrationCases : public RegistrationTest {
 protected:
  // Value that the adapter reads at the first byte, -1 if it is refused.
  int first_byte(MemoryHandle handle, base::MutableBytes memory) {
    const auto found = table_.access(handle, cache_.own_start(memory), memory.size(),
                                     AccessKind::kLocalRead, kPd, {});
    return found.ok() ? std::to_integer<int>(*found.at) : -1;
  }
};

TEST_F(RegistrationCases, ucx_merge) {
  const MemoryHandle region1 = get(at(0, 16 * kPage));
  EXPECT_EQ(get(at(0, 16 * kPage)), region1);
  const MemoryHandle region2 = get(at(20 * kPage, 32 * kPage));
  const MemoryHandle region3 = get(at(4 * kPage, 40 * kPage));
  EXPECT_EQ(get(at(0, 16 * kPage)), region3);
  EXPECT_EQ(get(at(20 * kPage, 32 * kPage)), region3);
  EXPECT_EQ(reach(region3, at(0, 52 * kPage)), '\0');
  // The old ones live until their users are gone.
  put(region1);
  EXPECT_EQ(reach(region1, at(0, 16 * kPage)), '\0');
  put(region1);
  EXPECT_NE(reach(region1, at(0, 16 * kPage)), '\0');
  EXPECT_EQ(reach(region2, at(20 * kPage, 32 * kPage)), '\0');
  put(region2);
  EXPECT_EQ(table_.live_count(), 1U);
  EXPECT_EQ(kernel_.locked, wanted_pages());
}

TEST_F(RegistrationCases, ucx_merge_adjacent) {
  get_put(at(0, 4 * kPage));
  get_put(at(8 * kPage, 4 * kPage));
  const MemoryHandle region3 = get(at(4 * kPage, 4 * kPage));
  EXPECT_EQ(reach(region3, at(0, 12 * kPage)), '\0');
  EXPECT_EQ(table_.live_count(), 1U);
  EXPECT_EQ(count(RegCounter::kMerged), 2U);
}

TEST_F(RegistrationCases, ucx_merge_inv) {
  const MemoryHandle region1 = get_put(at(0, 8 * kPage));
  const MemoryHandle region2 = get(at(2 * kPage, 16 * kPage));
  EXPECT_NE(region2, region1);
  EXPECT_NE(reach(region1, at(0, 8 * kPage)), '\0') << "idle: it ends at once";
  EXPECT_EQ(table_.live_count(), 1U);
}

TEST_F(RegistrationCases, ucx_merge_expand_prot) {
  const MemoryHandle region1 = get(at(0, 14 * kPage), kRead);
  const MemoryHandle region2 = get(at(10 * kPage, 8 * kPage), kWrite);
  EXPECT_EQ(reach(region2, at(0, 18 * kPage), AccessKind::kLocalRead), '\0');
  EXPECT_EQ(reach(region2, at(0, 18 * kPage), AccessKind::kLocalWrite), '\0');
  EXPECT_EQ(reach(region1, at(0, 14 * kPage), AccessKind::kLocalWrite), 'f');
  EXPECT_EQ(reach(region1, at(0, 14 * kPage)), '\0');
}

TEST_F(RegistrationCases, ucx_merge_invalid_prot_a_neighbour_that_is_gone_is_not_merged) {
  const MemoryHandle region1 = get_put(at(0, 4 * kPage));
  gone_ = at(0, kPage);  // without invalidate()
  const MemoryHandle region2 = get(at(3 * kPage, 4 * kPage));
  EXPECT_EQ(table_.length_of(region2), 4 * kPage);
  EXPECT_NE(reach(region1, at(kPage, kPage)), '\0');
  EXPECT_EQ(table_.live_count(), 1U);
}

TEST_F(RegistrationCases, ucx_release_inuse) {
  const auto buffer = at(0, 4 * kPage);
  const MemoryHandle region1 = get(buffer);
  cache_.invalidate(buffer);
  const MemoryHandle region2 = get(buffer);
  EXPECT_NE(region2, region1);
  put(region2);
  cache_.invalidate(buffer);
  EXPECT_EQ(table_.live_count(), 1U) << "the first is in use";
  put(region1);
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_TRUE(kernel_.locked.empty());
}

TEST_F(RegistrationCases, ucx_put_and_invalidate) {
  const auto buffer = at(0, 4 * kPage);
  const MemoryHandle region = get(buffer);
  get(buffer);
  cache_.invalidate(buffer.subspan(kPage, 1));  // a part is enough
  EXPECT_EQ(reach(region, buffer), 'a');
  put(region);
  EXPECT_EQ(count(RegCounter::kDeregistered), 0U) << "one user is left";
  put(region);
  EXPECT_EQ(count(RegCounter::kDeregistered), 1U);
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_FALSE(cache_.deregister(region));
}

TEST_F(RegistrationCases, ucx_register_failure) {
  kernel_.refuses = true;
  EXPECT_FALSE(try_get(at(0, 8 * kPage), kRead));
  EXPECT_FALSE(try_get(at(0, 8 * kPage), kRead | fabric::kRemoteRead));
  EXPECT_FALSE(try_get(at(0, 8 * kPage), 0x80));
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_TRUE(kernel_.locked.empty()) << "not even the part that was locked";
  kernel_.refuses = false;
  EXPECT_FALSE(try_get(at(0, 8 * kPage), 0x80)) << "the table refuses";
  EXPECT_TRUE(kernel_.locked.empty());
  get(at(0, 8 * kPage));
  EXPECT_EQ(kernel_.locked.size(), 8U);
}

// Two entries, 1000 bytes.
class RegistrationLimits : public RegistrationTest {
 protected:
  RegistrationLimits() : RegistrationTest({.entries = 2, .bytes = 1000}, 6) {}
  base::MutableBytes piece(std::size_t i, std::size_t bytes = 32) { return at(i * kPage, bytes); }
};

TEST_F(RegistrationLimits, M_13_ucx_by_count) {
  get_put(piece(0));
  const MemoryHandle second = get_put(piece(1));
  EXPECT_EQ(cache_.size(), 2U);
  const MemoryHandle third = get_put(piece(2));
  EXPECT_EQ(cache_.size(), 2U);
  EXPECT_EQ(get_put(piece(1)), second);
  EXPECT_EQ(get_put(piece(2)), third);
  EXPECT_EQ(get_put(piece(1)), second);
  get_put(piece(0));  // its own is gone; the third was used before the second
  EXPECT_EQ(cache_.size(), 2U);
  EXPECT_EQ(get_put(piece(1)), second);
  EXPECT_EQ(count(RegCounter::kRegistered), 4U);
  EXPECT_EQ(count(RegCounter::kEvicted), 2U);
  EXPECT_EQ(table_.live_count(), 2U);
}

TEST_F(RegistrationLimits, M_13_ucx_by_size) {
  get_put(piece(0, 600));
  const MemoryHandle second = get_put(piece(1, 600));
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(cache_.cached_bytes(), 600U);
  EXPECT_EQ(get(piece(1, 600)), second);
}

TEST_F(RegistrationLimits, M_13_ucx_by_size_inuse) {
  const MemoryHandle first = get(piece(0, 600));
  const MemoryHandle second = get(piece(1, 600));
  EXPECT_EQ(cache_.size(), 2U) << "both are in use";
  EXPECT_EQ(reach(first, piece(0, 600)), '\0');
  put(second);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(reach(first, piece(0, 600)), '\0');
  put(first);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(get(piece(0, 600)), first);
}

TEST_F(RegistrationLimits, M_13_more_than_the_limit_is_not_kept_and_not_merged) {
  const MemoryHandle small = get_put(piece(0, 900));
  put(get(at(kPage, 1001)));
  EXPECT_EQ(cache_.size(), 1U);
  const MemoryHandle next = get_put(at(850, 900));
  EXPECT_EQ(table_.length_of(next), 900U);
  EXPECT_NE(reach(small, piece(0, 900)), '\0') << "cached entries do not overlap";
  EXPECT_EQ(cache_.cached_bytes(), 900U);
}

TEST_F(RegistrationLimits, M_13_a_full_table_takes_what_is_idle_and_nothing_else) {
  get_put(piece(0));
  const MemoryHandle used = get(piece(1));
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(table_.regions().register_region(kPd, piece(10), kRead));
  }
  const MemoryHandle third = get(piece(2));
  EXPECT_EQ(reach(used, piece(1)), '\0');
  EXPECT_EQ(reach(third, piece(2)), '\0');
  EXPECT_FALSE(try_get(piece(3), kRead));
  EXPECT_EQ(cache_.size(), 2U);
  EXPECT_EQ(kernel_.locked, wanted_pages());
}

// A seam that frees other memory meanwhile, as an allocator does.
TEST_F(RegistrationCases, ucx_unmap_dereg_with_lock) {
  const auto other = at(32 * kPage, kPage);
  kernel_.hook = [&] { cache_.invalidate(other); };
  for (int i = 0; i < 100; ++i) {
    const MemoryHandle idle = get_put(other);
    const MemoryHandle region = get(at(0, 4 * kPage));  // a miss: it is invalidated below
    EXPECT_NE(reach(idle, other), '\0');
    EXPECT_EQ(reach(region, at(0, 4 * kPage)), '\0');
    put(region);
    get_put(other);
    cache_.invalidate(at(0, 4 * kPage));
    EXPECT_EQ(cache_.size(), 0U);
  }
  kernel_.hook = nullptr;
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_TRUE(kernel_.locked.empty());
}

TEST_F(RegistrationCases, ucx_unmap_dereg_with_lock_what_a_seam_ended_is_not_ended_again) {
  const auto both = [&] {
    get_put(at(0, kPage));
    get_put(at(8 * kPage, kPage));
  };
  kernel_.hook = [&] { cache_.invalidate(at(8 * kPage, kPage)); };
  both();
  cache_.invalidate(at(0, 10 * kPage));
  EXPECT_EQ(cache_.size(), 0U);
  both();
  cache_.collect([](const Registration&) { return true; });
  EXPECT_EQ(cache_.size(), 0U);
  kernel_.hook = nullptr;
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_EQ(count(RegCounter::kDeregistered), 4U);
  EXPECT_TRUE(kernel_.locked.empty());
}

TEST_F(RegistrationCases, ucx_inv_q_bounded) {
  const auto buffer = at(0, 4 * kPage);
  std::vector<MemoryHandle> used;
  for (int i = 0; i < 10'000; ++i) {
    used.push_back(get(buffer));
    cache_.invalidate(buffer);
    cache_.invalidate(buffer);
    if (used.size() < 16) continue;
    put(used.front());
    used.erase(used.begin());
    ASSERT_EQ(cache_.size(), 15U) << "what waits for its end is what is in use";
    ASSERT_EQ(table_.live_count(), 15U);
  }
}

base::MutableBytes map_pages(void* where = nullptr) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0);
  void* const memory = ::mmap(where, 4 * kPage, PROT_READ | PROT_WRITE, flags, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return {static_cast<std::byte*>(memory), 4 * kPage};
}

TEST_F(RegistrationCases, M_13_fabtests_mr_cache_evict_a_new_mapping_at_the_same_address) {
  const auto first = map_pages();
  first[0] = std::byte{1};
  const MemoryHandle old_handle = get_put(first);
  EXPECT_EQ(first_byte(old_handle, first), 1);
  cache_.invalidate(first);
  ::munmap(first.data(), first.size());
  const auto second = map_pages(first.data());
  second[0] = std::byte{2};
  const MemoryHandle handle = get(second);
  EXPECT_NE(handle, old_handle);
  EXPECT_EQ(first_byte(old_handle, first), -1);
  EXPECT_EQ(first_byte(handle, second), 2);
  put(handle);
  cache_.invalidate(second);
  ::munmap(second.data(), second.size());
}

TEST_F(RegistrationCases, M_13_fabtests_mr_reg_free_then_alloc) {
  for (int i = 1; i < 50; ++i) {
    void* const memory = std::malloc(8 * kPage);
    const base::MutableBytes buffer(static_cast<std::byte*>(memory), 8 * kPage);
    buffer[0] = static_cast<std::byte>(i);
    const MemoryHandle handle = get(buffer);
    EXPECT_EQ(first_byte(handle, buffer), i);
    put(handle);
    cache_.invalidate(buffer);
    std::free(memory);
  }
  EXPECT_EQ(count(RegCounter::kRegistered), 49U);
  EXPECT_EQ(count(RegCounter::kHit), 0U);
}

// While the wider range of two neighbours is locked, one of them is freed: the entry is of the
// other alone.
TEST_F(RegistrationCases, M_13_a_neighbour_that_is_freed_while_both_are_locked_is_not_merged) {
  get_put(at(4 * kPage, 4 * kPage));
  const auto gone = at(4 * kPage, 4 * kPage);
  bool is_freed = false;
  kernel_.hook = [&] {
    if (std::exchange(is_freed, true)) return;
    cache_.invalidate(gone);
    gone_ = gone;
  };
  const auto handle = get(at(0, 4 * kPage));
  kernel_.hook = nullptr;
  EXPECT_TRUE(is_freed);
  EXPECT_NE(reach(handle, gone), '\0') << "freed memory can be reached";
  EXPECT_FALSE(try_get(gone, kRead)) << "a stale hit";
}

TEST_F(RegistrationCases, M_13_memory_unmapped_in_use_is_refused_and_ends_with_its_user) {
  const auto memory = map_pages();
  const MemoryHandle handle = get(memory);
  cache_.invalidate(memory);
  ::munmap(memory.data(), memory.size());
  EXPECT_EQ(first_byte(handle, memory), -1) << "the adapter must not touch it";
  EXPECT_TRUE(kernel_.locked.empty());
  EXPECT_EQ(table_.live_count(), 1U) << "not before its user is gone";
  map_pages(memory.data());
  const MemoryHandle next = get(memory);
  EXPECT_NE(next, handle);
  EXPECT_EQ(first_byte(next, memory), 0);
  put(handle);
  EXPECT_EQ(first_byte(next, memory), 0);
  EXPECT_EQ(kernel_.locked, wanted_pages()) << "those of the new mapping";
  put(next);
  cache_.invalidate(memory);
  ::munmap(memory.data(), memory.size());
}

}  // namespace registration_cases_test
}  // namespace splitnic::fabric
