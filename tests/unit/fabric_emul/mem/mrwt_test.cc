// The life of regions and windows: registering, binding, ending, keys and start addresses.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/wide.h"
#include "fabric_emul/mem/mrwt.h"
#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric {
namespace mrwt_test {

using namespace mrwt_fixture;

TEST_F(MrwtTest, S002_02_a_window_reaches_its_sub_range_and_nothing_else) {
  const MemoryHandle handle = region(kLocalRead | kLocalWrite | kWindowBind);
  const MemoryHandle window =
      table_.windows().bind_window(kPd, handle, kStart + 1000, 100, kRemoteWrite, Qpn{}).value();
  const AccessResult inside =
      table_.access(window, kStart + 1000, 100, AccessKind::kRemoteWrite, kPd, kQp);
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(inside.at, memory().data() + 1000);
  EXPECT_EQ(try_access(window, kStart + 999, 1, AccessKind::kRemoteWrite), 'e');
  EXPECT_EQ(try_access(window, kStart + 999, 2, AccessKind::kRemoteWrite), 'e');
  EXPECT_EQ(try_access(window, kStart + 1099, 2, AccessKind::kRemoteWrite), 'e');
  EXPECT_EQ(try_access(window, kStart + 1100, 1, AccessKind::kRemoteWrite), 'e');
  EXPECT_TRUE(unchanged());
}

TEST_F(MrwtTest, S002_02_binding_outside_the_region_fails) {
  const MemoryHandle handle = region();
  struct Range {
    VirtualAddress address;
    std::uint64_t length;
  };
  const std::array outside{
      Range{VirtualAddress(kStart.value - 1), 1},
      Range{VirtualAddress(kStart.value - 1), kLength + 2},
      Range{kStart, kLength + 1},
      Range{kStart + 1, kLength},
      Range{kStart + kLength, 1},
      Range{kStart + 1, kMax},
      Range{kStart + 1, kMax - kStart.value},
      Range{VirtualAddress(0), kMax},
  };
  for (const Range& range : outside) {
    EXPECT_FALSE(
        table_.windows().bind_window(kPd, handle, range.address, range.length, kRemoteRead, kQp));
    EXPECT_EQ(table_.windows().check_bind(kPd, handle, range.address, range.length),
              AccessCheck::kE);
  }
  EXPECT_EQ(table_.live_count(), 1U);
  EXPECT_TRUE(table_.windows().bind_window(kPd, handle, kStart, kLength, kRemoteRead, kQp));
}

TEST_F(MrwtTest, S002_03_an_old_key_of_the_same_slot_is_refused) {
  const MemoryHandle old_handle = region();
  ASSERT_TRUE(table_.regions().deregister(old_handle));
  EXPECT_EQ(try_access(old_handle, kStart, 1, AccessKind::kRemoteWrite), 'a');
  const MemoryHandle new_handle = region();
  EXPECT_EQ(table_.index_count(), 1U) << "the slot was reused";
  EXPECT_NE(old_handle, new_handle);
  for (const AccessKind kind : kKinds) EXPECT_EQ(try_access(old_handle, kStart, 1, kind), 'd');
  EXPECT_FALSE(table_.regions().deregister(old_handle));
  EXPECT_TRUE(unchanged());
  EXPECT_EQ(try_access(new_handle, kStart, 1, AccessKind::kRemoteRead), '-');
}

TEST_F(MrwtTest, S002_03_identity_keys_show_index_and_instance) {
  Mrwt table(2, random_, true);
  EXPECT_EQ(table.regions().register_region(kPd, memory(), kAll).value(), MemoryHandle(0x00000001));
  EXPECT_EQ(table.regions().register_region(kPd, memory(), kAll).value(), MemoryHandle(0x00000101));
  ASSERT_TRUE(table.regions().deregister(MemoryHandle(0x00000001)));
  EXPECT_EQ(table.regions().register_region(kPd, memory(), kAll).value(), MemoryHandle(0x00000002));
}

TEST_F(MrwtTest, free_indices_are_reused_oldest_first) {
  Mrwt table(3, random_, true);
  std::vector<MemoryHandle> handles;
  for (int i = 0; i < 3; ++i)
    handles.push_back(table.regions().register_region(kPd, memory(), kAll).value());
  for (std::size_t index : {1U, 0U, 2U}) ASSERT_TRUE(table.regions().deregister(handles[index]));
  for (std::uint32_t index : {1U, 0U, 2U}) {
    const MemoryHandle next = table.regions().register_region(kPd, memory(), kAll).value();
    EXPECT_EQ(Key::parse(next.value), (Key{index, 2}));
  }
}

TEST_F(MrwtTest, an_index_is_retired_when_its_instance_would_wrap_and_no_handle_comes_twice) {
  Mrwt table(1, random_, true);
  std::set<MemoryHandle> seen;
  for (int i = 0; i < 1000; ++i) {
    const MemoryHandle handle =
        table.regions().register_region(kPd, memory(), kAll, kStart).value();
    EXPECT_TRUE(seen.insert(handle).second);
    EXPECT_EQ(Key::parse(handle.value),
              (Key{static_cast<std::uint32_t>(i / 255), static_cast<std::uint8_t>(1 + i % 255)}));
    ASSERT_TRUE(table.regions().deregister(handle));
  }
  for (const MemoryHandle& handle : seen) {
    EXPECT_NE(try_access(table, handle, kStart, 1, AccessKind::kRemoteRead), '-');
  }
}

TEST_F(MrwtTest, S002_06_no_window_without_the_binding_bit) {
  const MemoryHandle handle = region(kAccessRights);
  EXPECT_EQ(table_.windows().check_bind(kPd, handle, kStart, 1), AccessCheck::kG);
  const auto refused = table_.windows().bind_window(kPd, handle, kStart, 1, kRemoteRead, kQp);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("check g"), std::string::npos);
  EXPECT_TRUE(table_.regions().deregister(handle)) << "the refused bind left no count behind";
}

// An access that breaks every rule fails the first; each rule mended shows the next letter.

TEST_F(MrwtTest, M_06_length_zero_is_refused_at_registration_and_bind) {
  EXPECT_FALSE(table_.regions().register_region(kPd, {}, kAll));
  EXPECT_FALSE(table_.regions().register_region(kPd, memory().first(0), kAll, kStart));
  EXPECT_EQ(table_.live_count(), 0U);
  const MemoryHandle handle = region();
  EXPECT_FALSE(table_.windows().bind_window(kPd, handle, kStart, 0, kRemoteRead, Qpn{}));
  EXPECT_EQ(table_.windows().check_bind(kPd, handle, kStart, 0), AccessCheck::kE);
  EXPECT_EQ(table_.live_count(), 1U);
}

TEST_F(MrwtTest, deregister_waits_for_the_windows) {
  const MemoryHandle handle = region();
  const MemoryHandle one =
      table_.windows().bind_window(kPd, handle, kStart, 8, kRemoteRead, kQp).value();
  const MemoryHandle two =
      table_.windows().bind_window(kPd, handle, kStart, 8, kRemoteRead, kQp).value();
  EXPECT_FALSE(table_.regions().deregister(handle));
  EXPECT_FALSE(table_.regions().deregister(one)) << "a window is unbound";
  EXPECT_FALSE(table_.windows().unbind(handle)) << "a region is deregistered";
  ASSERT_TRUE(table_.windows().unbind(one));
  EXPECT_EQ(try_access(one, kStart, 1, AccessKind::kRemoteRead), 'a');
  EXPECT_FALSE(table_.regions().deregister(handle));
  EXPECT_EQ(try_access(two, kStart, 1, AccessKind::kRemoteRead), '-');
  EXPECT_FALSE(table_.windows().unbind(one)) << "once only";
  ASSERT_TRUE(table_.windows().unbind(two));
  EXPECT_TRUE(table_.regions().deregister(handle));
  EXPECT_EQ(table_.live_count(), 0U);
}

TEST_F(MrwtTest, release_domain_ends_all_of_one_pd_only) {
  const MemoryHandle mine = region();
  const MemoryHandle window =
      table_.windows().bind_window(kPd, mine, kStart, 8, kRemoteRead, kQp).value();
  const MemoryHandle other = region(kAll, kOtherPd);
  EXPECT_EQ(table_.release_domain(kPd), 2U);
  EXPECT_EQ(try_access(mine, kStart, 1, AccessKind::kRemoteRead), 'a');
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead), 'a');
  EXPECT_EQ(try_access(other, kStart, 1, AccessKind::kRemoteRead, kOtherPd), '-');
  EXPECT_EQ(table_.live_count(), 1U);
}

TEST_F(MrwtTest, a_full_table_refuses_and_recovers) {
  Mrwt table(2, random_);
  const MemoryHandle first = table.regions().register_region(kPd, memory(), kAll, kStart).value();
  ASSERT_TRUE(table.windows().bind_window(kPd, first, kStart, 8, kRemoteRead, kQp));
  EXPECT_FALSE(table.regions().register_region(kPd, memory(), kAll));
  EXPECT_FALSE(table.windows().bind_window(kPd, first, kStart, 8, kRemoteRead, kQp));
  EXPECT_EQ(table.release_domain(kPd), 2U) << "the refused bind counted no window";
  EXPECT_TRUE(table.regions().register_region(kPd, memory(), kAll));
}

TEST_F(MrwtTest, rights_that_do_not_exist_are_refused) {
  EXPECT_FALSE(table_.regions().register_region(kPd, memory(), 32));
  const MemoryHandle handle = region();
  EXPECT_FALSE(
      table_.windows().bind_window(kPd, handle, kStart, 8, kRemoteRead | kWindowBind, kQp));
  EXPECT_EQ(table_.live_count(), 1U);
}

TEST_F(MrwtTest, S000_29_the_default_start_is_opaque) {
  Mrwt table(2000, random_);
  std::set<std::uint64_t> starts;
  const auto process_address = reinterpret_cast<std::uintptr_t>(memory().data());
  for (int i = 0; i < 2000; ++i) {
    const MemoryHandle handle = table.regions().register_region(kPd, memory(), kAll).value();
    const std::uint64_t start = table.start_of(handle).value;
    EXPECT_EQ(table.length_of(handle), kLength);
    EXPECT_EQ(start % 64, 0U);
    EXPECT_NE(start, 0U);
    EXPECT_LE(start + kLength, std::uint64_t{1} << 56);
    EXPECT_NE(start, process_address);
    starts.insert(start);
  }
  EXPECT_EQ(starts.size(), 2000U);
  EXPECT_GT(*starts.rbegin() - *starts.begin(), std::uint64_t{1} << 55);
}

// Draws the same value repeatedly until it is changed.

class ScriptedRandom final : public base::Random {
 public:
  explicit ScriptedRandom(std::vector<std::uint64_t> values) : values_(std::move(values)) {}
  std::uint64_t next() override { return values_.at(drawn_++); }
  std::size_t drawn() const { return drawn_; }

 private:
  std::vector<std::uint64_t> values_;
  std::size_t drawn_ = 0;
};

TEST_F(MrwtTest, S000_29_the_process_address_is_drawn_again) {
  alignas(64) std::array<std::byte, 64> aligned{};
  const auto address = reinterpret_cast<std::uintptr_t>(aligned.data());
  // below(bound) = next * bound / 2^64 and the start is 64 * (below + 1): the inverse, rounded up.
  const std::uint64_t places = ((std::uint64_t{1} << 56) - aligned.size()) / 64;
  const base::Wide wanted = static_cast<base::Wide>(address / 64 - 1) << 64;
  const auto hit = static_cast<std::uint64_t>((wanted + places - 1) / places);
  ScriptedRandom random({hit, hit, 12345});
  Mrwt table(1, random, true);
  const MemoryHandle handle = table.regions().register_region(kPd, aligned, kAll).value();
  EXPECT_EQ(random.drawn(), 3U);
  EXPECT_NE(table.start_of(handle).value, address);
}

using MrwtDeathTest = MrwtTest;

TEST_F(MrwtDeathTest, asking_the_start_of_a_dead_handle_is_our_bug) {
  const MemoryHandle handle = region();
  EXPECT_EQ(table_.start_of(handle), kStart);
  ASSERT_TRUE(table_.regions().deregister(handle));
  EXPECT_DEATH((void)table_.start_of(handle), "has_value");
}

// Random operations against a plain model: an access passes exactly when it passes in the model.

}  // namespace mrwt_test
}  // namespace splitnic::fabric
