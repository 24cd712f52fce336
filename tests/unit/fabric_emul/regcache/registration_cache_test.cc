// The rows of the registration cache, one by one.
#include "fabric_emul/regcache/registration_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/adapter_pair.h"
#include "tests/unit/fabric_emul/regcache/registration_fixture.h"

namespace splitnic::fabric {
namespace registration_cache_test {

using namespace registration_fixture;
using namespace std::chrono_literals;
using fabric::AccessKind;
using fabric::MemoryHandle;
using fabric::VirtualAddress;

class RegistrationCacheTest : public RegistrationTest {};

TEST_F(RegistrationCacheTest, S003_01_a_thousand_ios_on_one_buffer_register_once) {
  const auto buffer = at(100, 3 * kPage);
  const MemoryHandle first = get_put(buffer);
  for (int i = 0; i < 999; ++i) {
    EXPECT_EQ(get_put(buffer), first);
  }
  EXPECT_EQ(count(RegCounter::kRegistered), 1U);
  EXPECT_EQ(count(RegCounter::kDeregistered), 0U);
  EXPECT_EQ(table_.live_count(), 1U);
  EXPECT_EQ(reach(first, buffer), '\0');
}

TEST_F(RegistrationCacheTest, S003_02_an_entry_shows_buffer_length_translation_and_status) {
  const auto buffer = at(kPage, 5000);
  cache_.set_time(clock_.now());
  const MemoryHandle handle = get(buffer, kRead, kOtherPd, OwnerId(31));
  ASSERT_EQ(entries().size(), 1U);
  const Registration entry = entries()[0];
  EXPECT_EQ(entry.number, 1U);
  EXPECT_EQ(entry.owner, OwnerId(31));
  EXPECT_EQ(entry.pd, kOtherPd);
  EXPECT_EQ(entry.memory.data(), buffer.data());
  EXPECT_EQ(entry.memory.size(), 5000U);
  EXPECT_EQ(entry.start, table_.start_of(handle));
  EXPECT_EQ(entry.start, cache_.own_start(buffer));
  EXPECT_EQ(entry.handle, handle);
  EXPECT_EQ(entry.rights, kRead);
  EXPECT_EQ(entry.status, RegistrationStatus::kCached);
  EXPECT_EQ(entry.users, 1U);
  EXPECT_EQ(entry.last_used, clock_.now());
  cache_.invalidate(buffer);
  EXPECT_EQ(entries()[0].status, RegistrationStatus::kStopped);
}

TEST_F(RegistrationCacheTest, S003_03_a_miss_enters_the_kernel_once_and_a_hit_never) {
  const auto buffer = at(0, 8 * kPage);
  get_put(buffer);
  EXPECT_EQ(kernel_.calls, 1U);
  EXPECT_EQ(exists_calls_, 1U);
  get_put(buffer);
  EXPECT_EQ(kernel_.calls, 1U);
  const MemoryHandle part = get(buffer.subspan(kPage + 5, 77), kWrite);
  EXPECT_EQ(kernel_.calls, 1U);
  EXPECT_EQ(reach(part, buffer.subspan(kPage + 5, 77), AccessKind::kLocalWrite), '\0');
  EXPECT_EQ(count(RegCounter::kKernelEntry), kernel_.calls);
  EXPECT_EQ(count(RegCounter::kHit), 2U);
  EXPECT_EQ(count(RegCounter::kMiss), 1U);
  EXPECT_EQ(exists_calls_, 1U) << "whether memory is mapped is a question to the kernel too";
  get_put(at(20 * kPage, kPage));
  EXPECT_EQ(kernel_.calls, 2U);
  EXPECT_EQ(exists_calls_, 2U);
}

TEST_F(RegistrationCacheTest, S003_03_a_range_that_does_not_exist_leaves_no_entry) {
  gone_ = at(4 * kPage, kPage);
  EXPECT_FALSE(try_get(at(4 * kPage, kPage), kRead));
  EXPECT_FALSE(try_get(at(3 * kPage, 2 * kPage), kRead));
  EXPECT_FALSE(cache_.register_region(kPd, at(4 * kPage, 1), kRead));
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_EQ(cache_.cached_bytes(), 0U);
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_EQ(kernel_.calls, 0U);
  EXPECT_EQ(count(RegCounter::kFailed), 3U);
  gone_ = {};
  get_put(at(4 * kPage, kPage));
  EXPECT_EQ(cache_.size(), 1U);
}

TEST_F(RegistrationCacheTest, S003_04_freed_memory_is_deregistered_once) {
  const auto buffer = at(0, kPage);
  get_put(buffer);
  cache_.invalidate(at(10 * kPage, kPage));  // not known
  EXPECT_EQ(count(RegCounter::kDeregistered), 0U);
  cache_.invalidate(buffer);
  cache_.invalidate(buffer);
  EXPECT_EQ(count(RegCounter::kDeregistered), 1U);
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_TRUE(kernel_.locked.empty());
}

TEST_F(RegistrationCacheTest, S003_05_changed_rights_end_the_old_key) {
  const auto buffer = at(0, 2 * kPage);
  const MemoryHandle old_handle = get_put(buffer, kRead);
  EXPECT_EQ(reach(old_handle, buffer, AccessKind::kLocalWrite), 'f');
  const MemoryHandle handle = get(buffer, kWrite);
  EXPECT_NE(handle, old_handle);
  EXPECT_NE(reach(old_handle, buffer), '\0');
  EXPECT_EQ(reach(handle, buffer, AccessKind::kLocalWrite), '\0');
  EXPECT_EQ(reach(handle, buffer, AccessKind::kLocalRead), '\0');
  EXPECT_EQ(table_.live_count(), 1U);
  EXPECT_EQ(count(RegCounter::kDeregistered), 1U);
}

TEST_F(RegistrationCacheTest, S003_05_changed_size_and_address_end_the_old_key) {
  const MemoryHandle small = get_put(at(0, kPage));
  const MemoryHandle longer = get_put(at(0, 2 * kPage));
  EXPECT_NE(reach(small, at(0, kPage)), '\0');
  const MemoryHandle elsewhere = get_put(at(kPage, 2 * kPage));
  EXPECT_NE(reach(longer, at(0, kPage)), '\0');
  EXPECT_EQ(reach(elsewhere, at(0, 3 * kPage)), '\0');
  EXPECT_EQ(table_.live_count(), 1U);
  get_put(at(8 * kPage, kPage));
  EXPECT_EQ(reach(elsewhere, at(0, 3 * kPage)), '\0') << "memory apart from it ends nothing";
  EXPECT_EQ(table_.live_count(), 2U);
}

TEST_F(RegistrationCacheTest, S003_07_two_owners_and_two_domains_share_nothing) {
  const auto buffer = at(0, kPage);
  const MemoryHandle mine = get(buffer);
  EXPECT_NE(get(buffer, kReadWrite, kOtherPd), mine);
  EXPECT_NE(get(buffer, kReadWrite, kPd, OwnerId(2)), mine);
  EXPECT_EQ(get(buffer), mine);
  EXPECT_EQ(cache_.size(), 3U);
}

// A caller that was written for the table: it knows register_region() and deregister() only, and
// asks the table where the memory begins. Returns how many bytes it found where it looked for them.
template <typename Registrar>
std::size_t plain_caller(Registrar& registrar, const fabric::Mrwt& table,
                         base::MutableBytes memory) {
  std::size_t right = 0;
  for (int i = 0; i < 100; ++i) {
    const auto buffer = memory.subspan(static_cast<std::size_t>(i % 5) * 1000, 1000);
    const auto found_at = [&](MemoryHandle handle, VirtualAddress start) {
      const auto found = table.access(handle, start, 1000, AccessKind::kLocalRead, kPd, {});
      return found.ok() && found.at == buffer.data();
    };
    const MemoryHandle handle = registrar.register_region(kPd, buffer, kReadWrite).value();
    right += found_at(handle, table.start_of(handle)) ? 1000U : 0U;
    const VirtualAddress start(0x10000 + static_cast<std::uint64_t>(i % 5) * 1000);
    const MemoryHandle placed = registrar.register_region(kPd, buffer, kReadWrite, start).value();
    right += found_at(placed, start) ? 1000U : 0U;
    EXPECT_TRUE(registrar.deregister(handle));
    EXPECT_TRUE(registrar.deregister(placed));
  }
  return right;
}

TEST_F(RegistrationCacheTest, S003_07_a_caller_of_the_plain_calls_gains_the_cache) {
  EXPECT_EQ(plain_caller(table_.regions(), table_, at(0, 5000)), 200'000U);
  EXPECT_EQ(plain_caller(cache_, table_, at(0, 5000)), 200'000U);
  // Five separate buffers, and the placed ones as they grew together.
  EXPECT_EQ(count(RegCounter::kRegistered), 10U);
  EXPECT_EQ(count(RegCounter::kHit), 190U);
  EXPECT_EQ(cache_.size(), 6U);
}

TEST_F(RegistrationCacheTest, S003_07_what_is_not_the_caches_goes_to_the_table) {
  const MemoryHandle plain = table_.regions().register_region(kPd, at(0, kPage), kRead).value();
  EXPECT_TRUE(cache_.deregister(plain));
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_FALSE(cache_.deregister(plain));
  EXPECT_FALSE(cache_.register_region(kPd, {}, kRead));
  const MemoryHandle cached = get_put(at(0, kPage));
  EXPECT_FALSE(cache_.deregister(cached)) << "a second time";
  EXPECT_EQ(get(at(0, kPage)), cached);
}

TEST_F(RegistrationCacheTest, S001_17_what_a_peer_may_reach_really_ends_with_its_user) {
  const auto buffer = at(0, 4 * kPage);
  for (const std::uint8_t right :
       {fabric::kRemoteRead, fabric::kRemoteWrite, fabric::kWindowBind}) {
    const auto rights = static_cast<std::uint8_t>(kReadWrite | right);
    const MemoryHandle handle = get(buffer, rights);
    const MemoryHandle part = get(buffer.subspan(kPage, kPage), rights);
    EXPECT_NE(part, handle);
    EXPECT_NE(reach(part, buffer), '\0') << "more than was asked for";
    const MemoryHandle local = get(buffer);
    EXPECT_NE(local, handle);
    EXPECT_NE(reach(local, buffer, AccessKind::kRemoteWrite), '\0');
    put(handle);
    EXPECT_NE(reach(handle, buffer), '\0');
    put(part);
    EXPECT_NE(reach(part, buffer.subspan(kPage, kPage)), '\0');
    put(local);
    EXPECT_EQ(cache_.size(), 1U);
  }
}

TEST_F(RegistrationCacheTest, S001_17_a_bound_window_keeps_its_region_as_at_the_table) {
  const auto buffer = at(0, kPage);
  const MemoryHandle handle = get(buffer, kReadWrite | fabric::kWindowBind);
  const MemoryHandle window =
      table_.windows()
          .bind_window(kPd, handle, cache_.own_start(buffer), 10, fabric::kRemoteRead, {})
          .value();
  EXPECT_FALSE(cache_.deregister(handle));
  EXPECT_FALSE(cache_.flush(handle));
  EXPECT_EQ(reach(handle, buffer), '\0');
  EXPECT_TRUE(table_.windows().unbind(window));
  EXPECT_TRUE(cache_.deregister(handle));
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_TRUE(kernel_.locked.empty());
}

TEST_F(RegistrationCacheTest, X_23_memory_is_locked_as_long_as_it_is_registered) {
  const auto buffer = at(kPage + 10, 2 * kPage);  // lies in three pages
  get_put(buffer);
  EXPECT_EQ(kernel_.locked.size(), 3U);
  EXPECT_EQ(kernel_.locked, wanted_pages());
  EXPECT_TRUE(cache_.flush(entries()[0].handle));
  EXPECT_TRUE(kernel_.locked.empty());
}

TEST_F(RegistrationCacheTest, X_25_an_entry_that_the_table_ended_is_registered_again) {
  const auto buffer = at(0, kPage);
  const MemoryHandle idle = get_put(buffer);
  ASSERT_TRUE(table_.regions().deregister(idle));
  const MemoryHandle used = get(buffer);
  EXPECT_NE(used, idle);
  EXPECT_EQ(reach(used, buffer), '\0');
  EXPECT_EQ(table_.release_domain(kPd), 1U);
  // Its place in the table is taken by something else.
  ASSERT_TRUE(table_.regions().register_region(kPd, at(9 * kPage, kPage), kRead));
  const MemoryHandle third = get(buffer);
  EXPECT_EQ(reach(third, buffer), '\0');
  EXPECT_EQ(count(RegCounter::kDead), 2U);
  put(used);
  put(third);
  EXPECT_EQ(cache_.size(), 1U);
  EXPECT_EQ(kernel_.locked, wanted_pages());
}

TEST_F(RegistrationCacheTest, X_25_a_quiesced_entry_is_waited_for) {
  const auto buffer = at(0, kPage);
  const MemoryHandle handle = get_put(buffer, kWrite);
  ASSERT_TRUE(table_.set_valid(handle, false));
  EXPECT_FALSE(try_get(buffer, kWrite));
  EXPECT_EQ(count(RegCounter::kQuiesced), 1U);
  EXPECT_EQ(count(RegCounter::kRegistered), 1U);
  EXPECT_FALSE(try_get(at(0, 2 * kPage), kWrite)) << "it overlaps";
  EXPECT_FALSE(try_get(buffer, kRead));
  const MemoryHandle next = get(at(kPage, kPage), kWrite);  // it only touches
  EXPECT_EQ(table_.length_of(next), kPage);
  ASSERT_TRUE(table_.set_valid(handle, true));
  EXPECT_EQ(get(buffer, kWrite), handle);
}

TEST_F(RegistrationCacheTest, X_25_flush_deregisters_really) {
  const auto buffer = at(0, kPage);
  const MemoryHandle idle = get_put(buffer);
  EXPECT_TRUE(cache_.flush(idle));
  EXPECT_NE(reach(idle, buffer), '\0');
  EXPECT_FALSE(cache_.flush(idle));
  const MemoryHandle used = get(buffer);
  EXPECT_TRUE(cache_.flush(used));
  EXPECT_NE(reach(used, buffer), '\0');
  get(buffer);
  get_put(at(9 * kPage, kPage), kReadWrite);
  get(at(20 * kPage, kPage), kReadWrite | fabric::kRemoteWrite);
  EXPECT_EQ(table_.live_count(), 3U);
  cache_.flush_all();
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_EQ(cache_.cached_bytes(), 0U);
  EXPECT_TRUE(kernel_.locked.empty());
}

// Frames of a queue pair from memory of the cache: once for set-up, then the queue alone.
TEST(RegistrationCachePosts, S003_08_a_hundred_thousand_posts_enter_the_kernel_once) {
  constexpr std::size_t kPosts = 100'000;
  constexpr std::size_t kBatch = 128;
  fabric::testing::AdapterPair pair;
  fabric::testing::End& from = pair.b();
  FakeKernel kernel;
  RegistrationCache cache(
      from.adapter->memory(), kernel, [](base::Bytes) { return true; }, from.random);
  std::vector<std::byte> buffer(4096);
  const fabric::testing::QpPair qp = pair.connect(fabric::QpInit{});
  fabric::testing::Memory& to = pair.a().memory(64);
  std::vector<MemoryHandle> used;
  for (std::size_t posted = 0; posted < kPosts; posted += used.size()) {
    from.sent.clear();
    used.clear();
    for (std::size_t i = 0; i < std::min(kBatch, kPosts - posted); ++i) {
      const auto piece = base::MutableBytes(buffer).subspan(i * 32, 32);
      std::fill(piece.begin(), piece.end(), static_cast<std::byte>(posted + i));
      // The first request is for all of it; parts are hits.
      const auto wanted = posted + i == 0 ? base::MutableBytes(buffer) : piece;
      used.push_back(
          cache.register_region(from.pd, wanted, kRead, cache.own_start(wanted)).value());
      const fabric::Sge sge{cache.own_start(piece), 32, used.back()};
      ASSERT_TRUE(from.post_write(qp.b, {sge}, to.start, to.handle));
    }
    ASSERT_TRUE(pair.run_until([&] { return from.sent.size() == used.size(); }));
    for (const fabric::Wc& wc : from.sent) ASSERT_EQ(wc.status, fabric::WcStatus::kSuccess);
    for (const MemoryHandle handle : used) ASSERT_TRUE(cache.deregister(handle));
    ASSERT_EQ(kernel.calls, 1U);
  }
  EXPECT_EQ(to.bytes[31], static_cast<std::byte>((kPosts - 1) & 0xFF));
  EXPECT_EQ(cache.counters()[RegCounter::kRegistered], 1U);
  EXPECT_EQ(cache.counters()[RegCounter::kKernelEntry], 1U);
  cache.flush_all();
}

}  // namespace registration_cache_test
}  // namespace splitnic::fabric
