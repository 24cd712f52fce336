// The table over a long life: what it keeps, and when handles come back.
#include "fabric_emul/mem/entry_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <vector>

#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {
namespace entry_table_test {

constexpr std::size_t kInstances = kTagInstanceLast;  // from kTagInstanceFirst on
constexpr std::size_t kPage = 256;

TEST(EntryTableTest, L_4_memory_does_not_grow_with_the_registrations) {
  EntryTable table(64, KeyPermutation());
  const std::uint32_t first = table.take().value();  // lives to the end
  std::deque<std::uint32_t> live;
  for (int i = 0; i < 2'000'000; ++i) {
    if (live.size() == 20) {
      table.end(live.front());
      live.pop_front();
    }
    live.push_back(table.take().value());
  }
  EXPECT_GT(table.index_count(), 7000U);
  EXPECT_LE(table.entries_kept(), 4 * kPage);
  EXPECT_EQ(table.live_count(), 21U);
  EXPECT_TRUE(table.find(table.handle_of(first)));
  std::size_t visited = 0;
  table.visit([&](std::uint32_t) { ++visited; });
  EXPECT_EQ(visited, 21U);
}

TEST(EntryTableTest, L_4_a_handle_of_a_freed_page_names_nothing) {
  EntryTable table(1, KeyPermutation());
  std::vector<MemoryHandle> handles;
  for (std::size_t i = 0; i < 2 * kPage * kInstances; ++i) {
    const std::uint32_t index = table.take().value();
    handles.push_back(table.handle_of(index));
    table.end(index);
  }
  EXPECT_LE(table.entries_kept(), kPage);
  for (std::size_t i = 0; i < handles.size(); i += 97) EXPECT_FALSE(table.find(handles[i])) << i;
  EXPECT_FALSE(table[0].is_used);
}

// When all have been given, they come back in the order in which they were retired.
TEST(EntryTableTest, L_4_handles_come_back_when_all_others_were_given) {
  constexpr std::size_t kIndices = 2 * kPage;
  EntryTable table(1, KeyPermutation(), kIndices);
  std::set<MemoryHandle> seen;
  for (std::size_t i = 0; i < kIndices * kInstances; ++i) {
    const std::uint32_t index = table.take().value();
    ASSERT_TRUE(seen.insert(table.handle_of(index)).second) << i;
    EXPECT_TRUE(table.has_index_after(index));
    table.end(index);
  }
  std::set<MemoryHandle> again;
  for (std::size_t i = 0; i < kIndices * kInstances; ++i) {
    const auto index = table.take();
    ASSERT_TRUE(index) << i;
    ASSERT_TRUE(again.insert(table.handle_of(*index)).second) << i;
    table.end(*index);
  }
  EXPECT_EQ(again, seen);
  EXPECT_EQ(table.index_count(), kIndices);
}

TEST(EntryTableTest, L_4_without_an_index_a_registration_is_refused) {
  EntryTable table(1000, KeyPermutation(), kPage);
  std::vector<std::uint32_t> live;
  for (std::size_t i = 0; i < kPage; ++i) live.push_back(table.take().value());
  EXPECT_FALSE(table.take());
  EXPECT_TRUE(table.has_index_after(live[7]));
  table.end(live[7]);
  EXPECT_EQ(table.take().value(), live[7]);
}

TEST(EntryTableTest, L_4_a_domain_ends_whatever_was_registered_before) {
  base::SeededRandom random(3);
  Mrwt table(64, random, true);
  std::vector<std::byte> memory(64);
  const auto make = [&](PdId pd) {
    return table.regions().register_region(pd, memory, kAccessRights).value();
  };
  const MemoryHandle kept = make(PdId(1));
  for (std::size_t i = 0; i < 2 * kPage * kInstances; ++i) {
    ASSERT_TRUE(table.regions().deregister(make(PdId(2))));
  }
  make(PdId(2));
  make(PdId(2));
  EXPECT_EQ(table.release_domain(PdId(2)), 2U);
  EXPECT_EQ(table.live_count(), 1U);
  EXPECT_NE(table.entry(kept), nullptr);
}

}  // namespace entry_table_test
}  // namespace splitnic::fabric
