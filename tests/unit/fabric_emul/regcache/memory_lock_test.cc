// Pages that several registrations lock, and the kernel's own calls.
#include "fabric_emul/regcache/memory_lock.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/unit/fabric_emul/regcache/registration_fixture.h"

namespace splitnic::fabric {
namespace memory_lock_test {

using namespace registration_fixture;

class LockedPagesTest : public ::testing::Test {
 protected:
  base::MutableBytes at(std::size_t offset, std::size_t bytes) {
    return base::MutableBytes(arena_->bytes).subspan(offset, bytes);
  }
  struct alignas(kPage) Arena {
    std::array<std::byte, 8 * kPage> bytes{};
  };
  std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();
  FakeKernel kernel_;
  base::Counters<RegCounter> counters_;
  LockedPages pages_{kernel_, counters_};
};

TEST_F(LockedPagesTest, X_23_a_page_stays_locked_until_its_last_user_goes) {
  ASSERT_TRUE(pages_.lock(at(0, kPage + 1)));          // pages 0, 1
  ASSERT_TRUE(pages_.lock(at(kPage + 1, 2 * kPage)));  // pages 1, 2, 3
  ASSERT_TRUE(pages_.lock(at(3 * kPage - 1, 1)));      // page 2
  EXPECT_EQ(kernel_.locked.size(), 4U);
  pages_.unlock(at(kPage + 1, 2 * kPage));
  EXPECT_EQ(kernel_.locked.size(), 3U);
  EXPECT_FALSE(kernel_.locked.contains(at(3 * kPage, 1).data()));
  pages_.unlock(at(0, kPage + 1));
  EXPECT_EQ(kernel_.locked.size(), 1U);
  pages_.unlock(at(3 * kPage - 1, 1));
  EXPECT_TRUE(kernel_.locked.empty());
  EXPECT_EQ(counters_[RegCounter::kKernelEntry], kernel_.calls);
}

TEST_F(LockedPagesTest, X_23_a_refusal_unlocks_only_what_nobody_else_has) {
  ASSERT_TRUE(pages_.lock(at(0, kPage)));
  kernel_.refuses = true;
  EXPECT_FALSE(pages_.lock(at(0, 8 * kPage)));
  EXPECT_EQ(kernel_.locked, std::set<const std::byte*>{at(0, 1).data()});
}

TEST(MemoryExists, S003_03_all_of_a_range_must_be_mapped) {
  constexpr std::size_t kBytes = std::size_t{80} << 20;  // more than one question holds
  auto* const first = static_cast<std::byte*>(
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(static_cast<void*>(first), MAP_FAILED);
  EXPECT_TRUE(memory_exists({first, kBytes}));
  ::munmap(first + kBytes - kPage, kPage);
  EXPECT_FALSE(memory_exists({first, kBytes}));
  EXPECT_FALSE(memory_exists({first + kBytes - kPage - 1, 2}));
  EXPECT_TRUE(memory_exists({first, kBytes - kPage}));
  ::munmap(first, kBytes - kPage);
  EXPECT_FALSE(memory_exists({first, 1}));
}

TEST(OsMemoryLock, S003_03_what_is_not_mapped_cannot_be_locked) {
  auto* const page = static_cast<std::byte*>(
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(page), MAP_FAILED);
  OsMemoryLock kernel;
  const base::Status locked = kernel.lock({page, kPage});
  EXPECT_TRUE(locked) << locked.error().text();
  kernel.unlock({page, kPage});
  ::munmap(page, kPage);
#ifndef __SANITIZE_ADDRESS__  // its mlock() does nothing
  EXPECT_FALSE(kernel.lock({page, kPage}));
#endif
}

}  // namespace memory_lock_test
}  // namespace splitnic::fabric
