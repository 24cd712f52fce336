// Every letter that refuses an access, on every path, with the memory unchanged afterwards.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "fabric_emul/mem/access_check.h"
#include "fabric_emul/mem/mrwt.h"
#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric {
namespace access_check_test {

using namespace mrwt_fixture;
using AccessCheckTest = MrwtTest;

// Touches no memory.
TEST(AccessRangeTest, M_04_the_sum_of_offset_and_length_does_not_wrap) {
  MrwtEntry entry;
  entry.length = 100;
  EXPECT_TRUE(is_within(entry, 50, 50));
  EXPECT_FALSE(is_within(entry, 50, ~std::uint64_t{0} - 9));
  EXPECT_FALSE(is_within(entry, ~std::uint64_t{0} - 9, 50));
}

TEST_F(AccessCheckTest, access_gives_the_byte_behind_the_address) {
  const MemoryHandle handle = region();
  for (std::uint64_t offset : {0UL, 1UL, 63UL, 4095UL}) {
    const AccessResult result =
        table_.access(handle, kStart + offset, 1, AccessKind::kRemoteRead, kPd, kQp);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result.at, memory().data() + offset);
  }
}

TEST_F(AccessCheckTest, S004_06_one_key_serves_local_and_remote_use_and_each_needs_its_right) {
  const MemoryHandle local = region(kLocalRead | kLocalWrite);
  EXPECT_EQ(try_access(local, kStart, 8, AccessKind::kLocalRead), '-');
  EXPECT_EQ(try_access(local, kStart, 8, AccessKind::kRemoteRead), 'f');
  EXPECT_EQ(try_access(local, kStart, 8, AccessKind::kRemoteWrite), 'f');
  EXPECT_TRUE(unchanged());
  const MemoryHandle both = region(kLocalRead | kRemoteRead);
  EXPECT_EQ(try_access(both, kStart, 8, AccessKind::kLocalRead), '-');
  EXPECT_EQ(try_access(both, kStart, 8, AccessKind::kRemoteRead), '-');
}

TEST_F(AccessCheckTest, S002_06_all_rights_against_all_kinds) {
  for (unsigned rights = 0; rights < 16; ++rights) {
    const MemoryHandle handle = region(static_cast<std::uint8_t>(rights));
    for (unsigned kind = 0; kind < kAccessKinds; ++kind) {
      buffer_ = before_;
      const char expected = (rights >> kind & 1U) != 0 ? '-' : 'f';
      EXPECT_EQ(try_access(handle, kStart, 64, static_cast<AccessKind>(kind)), expected)
          << "rights " << rights << " kind " << kind;
      const bool writes = kind == 1 || kind == 3;
      EXPECT_EQ(unchanged(), !(writes && expected == '-'));
    }
    ASSERT_TRUE(table_.regions().deregister(handle));
  }
}

TEST_F(AccessCheckTest, S002_12_check_a_unknown_ended_or_invalid_entry_on_all_paths) {
  const MemoryHandle handle = region();
  const MemoryHandle ended = region();
  ASSERT_TRUE(table_.regions().deregister(ended));
  ASSERT_TRUE(table_.set_valid(handle, false));
  for (const AccessKind kind : kKinds) {
    EXPECT_EQ(try_access(handle, kStart, 1, kind), 'a');
    EXPECT_EQ(try_access(ended, kStart, 1, kind), 'a');
  }
  EXPECT_EQ(table_.windows().check_bind(kPd, handle, kStart, 1), AccessCheck::kA);
  EXPECT_TRUE(unchanged());
  ASSERT_TRUE(table_.set_valid(handle, true));
  EXPECT_EQ(try_access(handle, kStart, 1, AccessKind::kLocalRead), '-');
}

TEST_F(AccessCheckTest, M_01_an_unknown_key_touches_nothing) {
  const MemoryHandle handle = region();
  base::SeededRandom guess(3);
  for (int i = 0; i < 100'000; ++i) {
    const MemoryHandle unknown(guess.next32());
    if (unknown == handle) continue;
    const char letter = try_access(unknown, kStart, 1, AccessKind::kRemoteWrite);
    ASSERT_TRUE(letter == 'a' || letter == 'd') << letter;
  }
  EXPECT_TRUE(unchanged());
}

TEST_F(AccessCheckTest, S004_08_a_window_stops_with_the_valid_bit_of_its_region) {
  const MemoryHandle handle = region();
  const MemoryHandle window =
      table_.windows().bind_window(kPd, handle, kStart, 100, kRemoteRead, Qpn{}).value();
  ASSERT_TRUE(table_.set_valid(handle, false));
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead), 'a');
  ASSERT_TRUE(table_.set_valid(handle, true));
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead), '-');
}

TEST_F(AccessCheckTest, X_17_entry_type_against_side_in_both_profiles) {
  Mrwt strict(4, random_, false, MrwtProfile::kStrictWindows);
  for (Mrwt* table : {&table_, &strict}) {
    const MemoryHandle handle =
        table->regions().register_region(kPd, memory(), kAll, kStart).value();
    const MemoryHandle window =
        table->windows().bind_window(kPd, handle, kStart, 100, kAccessRights, Qpn{}).value();
    const char remote_region = table == &strict ? 'b' : '-';
    const auto letter = [&](MemoryHandle which, AccessKind kind) {
      return try_access(*table, which, kStart, 1, kind);
    };
    EXPECT_EQ(letter(handle, AccessKind::kLocalRead), '-');
    EXPECT_EQ(letter(handle, AccessKind::kLocalWrite), '-');
    EXPECT_EQ(letter(handle, AccessKind::kRemoteRead), remote_region);
    EXPECT_EQ(letter(handle, AccessKind::kRemoteWrite), remote_region);
    EXPECT_EQ(letter(window, AccessKind::kLocalRead), 'b');
    EXPECT_EQ(letter(window, AccessKind::kLocalWrite), 'b');
    EXPECT_EQ(letter(window, AccessKind::kRemoteRead), '-');
    EXPECT_EQ(letter(window, AccessKind::kRemoteWrite), '-');
    EXPECT_EQ(table->windows().check_bind(kPd, window, kStart, 1), AccessCheck::kB)
        << "no window on a window";
  }
}

TEST_F(AccessCheckTest, S002_14_M_02_check_c_another_protection_domain_on_all_paths) {
  const MemoryHandle handle = region();
  const MemoryHandle window =
      table_.windows().bind_window(kPd, handle, kStart, 100, kAccessRights, Qpn{}).value();
  for (const AccessKind kind : kKinds) {
    EXPECT_EQ(try_access(handle, kStart, 1, kind, kOtherPd), 'c');
  }
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead, kOtherPd), 'c');
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteWrite, kOtherPd), 'c');
  EXPECT_EQ(table_.windows().check_bind(kOtherPd, handle, kStart, 1), AccessCheck::kC);
  EXPECT_TRUE(unchanged());
}

TEST_F(AccessCheckTest, M_03_a_window_of_one_qp_is_refused_to_another) {
  const MemoryHandle handle = region();
  const MemoryHandle window =
      table_.windows()
          .bind_window(kPd, handle, kStart, 100, kRemoteRead | kRemoteWrite, kQp)
          .value();
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteWrite, kPd, kOtherQp), 'c');
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead, kPd, kOtherQp), 'c');
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead, kPd, Qpn{}), 'c');
  EXPECT_TRUE(unchanged());
  EXPECT_EQ(try_access(window, kStart, 1, AccessKind::kRemoteRead, kPd, kQp), '-');
}

TEST_F(AccessCheckTest, S002_15_check_d_instance_plus_one) {
  Mrwt table(2, random_, true);
  const MemoryHandle handle = table.regions().register_region(kPd, memory(), kAll, kStart).value();
  const MemoryHandle next_instance(handle.value + 1);
  for (const AccessKind kind : kKinds) {
    EXPECT_EQ(try_access(table, next_instance, kStart, 1, kind), 'd');
  }
  EXPECT_EQ(table.windows().check_bind(kPd, next_instance, kStart, 1), AccessCheck::kD);
  EXPECT_TRUE(unchanged());
}

TEST_F(AccessCheckTest, S002_16_M_04_check_e_one_byte_off_and_past_2_64) {
  const MemoryHandle handle = region();
  for (const AccessKind kind : kKinds) {
    buffer_ = before_;
    EXPECT_EQ(try_access(handle, VirtualAddress(kStart.value - 1), 1, kind), 'e');
    EXPECT_EQ(try_access(handle, VirtualAddress(kStart.value - 1), kLength, kind), 'e');
    EXPECT_EQ(try_access(handle, kStart, kLength + 1, kind), 'e');
    EXPECT_EQ(try_access(handle, kStart + 1, kLength, kind), 'e');
    EXPECT_EQ(try_access(handle, kStart + kLength, 1, kind), 'e');
    EXPECT_EQ(try_access(handle, kStart, kMax, kind), 'e');
    EXPECT_EQ(try_access(handle, kStart + 8, kMax - 7, kind), 'e') << "ends at start";
    EXPECT_EQ(try_access(handle, kStart + 8, kMax - kStart.value, kind), 'e');
    EXPECT_EQ(try_access(handle, VirtualAddress(kMax), 1, kind), 'e');
    EXPECT_EQ(try_access(handle, VirtualAddress(kMax), kStart.value + 2, kind), 'e');
    EXPECT_EQ(try_access(handle, VirtualAddress(0), kMax, kind), 'e');
    EXPECT_TRUE(unchanged());
    EXPECT_EQ(try_access(handle, kStart, kLength, kind), '-') << "the exact range";
  }
  const base::Bytes all(buffer_);
  EXPECT_EQ(std::memcmp(all.data(), before_.data(), kCanary), 0);
  EXPECT_EQ(std::memcmp(all.last(kCanary).data(), before_.data() + kCanary + kLength, kCanary), 0);
}

TEST_F(AccessCheckTest, S002_16_a_region_at_the_very_end_of_the_address_space_does_not_wrap) {
  EXPECT_FALSE(
      table_.regions().register_region(kPd, memory(), kAll, VirtualAddress(kMax - kLength + 1)));
  EXPECT_FALSE(table_.regions().register_region(kPd, memory(), kAll, VirtualAddress(kMax)));
  const VirtualAddress start(kMax - kLength);
  const MemoryHandle handle = table_.regions().register_region(kPd, memory(), kAll, start).value();
  EXPECT_EQ(try_access(handle, start, kLength, AccessKind::kRemoteRead), '-');
  EXPECT_EQ(try_access(handle, start + 1, kLength, AccessKind::kRemoteRead), 'e');
  EXPECT_EQ(try_access(handle, start + kLength, 1, AccessKind::kRemoteRead), 'e');
  EXPECT_EQ(try_access(handle, VirtualAddress(0), 1, AccessKind::kRemoteRead), 'e');
}

TEST_F(AccessCheckTest, S002_17_M_05_check_f_each_right_cleared_in_turn) {
  for (const AccessKind cleared : kKinds) {
    buffer_ = before_;
    const MemoryHandle handle = region(static_cast<std::uint8_t>(kAll & ~right_for(cleared)));
    EXPECT_EQ(try_access(handle, kStart, 8, cleared), 'f');
    EXPECT_TRUE(unchanged());
    for (const AccessKind other : kKinds) {
      if (other == cleared) continue;
      EXPECT_EQ(try_access(handle, kStart, 8, other), '-');
    }
    ASSERT_TRUE(table_.regions().deregister(handle));
  }
}

TEST_F(AccessCheckTest, S002_17_a_window_has_its_own_rights) {
  const MemoryHandle handle = region();
  const MemoryHandle reads =
      table_.windows().bind_window(kPd, handle, kStart, 8, kRemoteRead, kQp).value();
  EXPECT_EQ(try_access(reads, kStart, 8, AccessKind::kRemoteWrite), 'f');
  EXPECT_TRUE(unchanged());
  EXPECT_EQ(try_access(reads, kStart, 8, AccessKind::kRemoteRead), '-');
}

TEST_F(AccessCheckTest, the_letters_come_in_order) {
  Mrwt table(4, random_, true, MrwtProfile::kStrictWindows);
  const MemoryHandle parent = table.regions().register_region(kPd, memory(), kAll, kStart).value();
  const MemoryHandle window =
      table.windows().bind_window(kPd, parent, kStart, 8, kRemoteRead, kQp).value();
  const MemoryHandle stale(window.value + 1);
  const VirtualAddress outside = kStart + kLength;
  ASSERT_TRUE(table.set_valid(window, false));
  EXPECT_EQ(try_access(table, stale, outside, 1, AccessKind::kLocalWrite, kOtherPd), 'a');
  ASSERT_TRUE(table.set_valid(window, true));
  EXPECT_EQ(try_access(table, stale, outside, 1, AccessKind::kLocalWrite, kOtherPd), 'b');
  EXPECT_EQ(try_access(table, stale, outside, 1, AccessKind::kRemoteWrite, kOtherPd), 'c');
  EXPECT_EQ(try_access(table, stale, outside, 1, AccessKind::kRemoteWrite), 'd');
  EXPECT_EQ(try_access(table, window, outside, 1, AccessKind::kRemoteWrite), 'e');
  EXPECT_EQ(try_access(table, window, kStart, 1, AccessKind::kRemoteWrite), 'f');
  EXPECT_TRUE(unchanged());
  EXPECT_EQ(try_access(table, window, kStart, 1, AccessKind::kRemoteRead), '-');
}

TEST_F(AccessCheckTest, S001_40_wrong_stale_and_overrun_are_refused_with_no_byte_written) {
  const MemoryHandle target = region(kRemoteWrite);
  const MemoryHandle stale = region(kRemoteWrite);
  ASSERT_TRUE(table_.regions().deregister(stale));
  EXPECT_NE(try_access(MemoryHandle(target.value ^ 1U), kStart, 16, AccessKind::kRemoteWrite), '-');
  EXPECT_NE(try_access(stale, kStart, 16, AccessKind::kRemoteWrite), '-');
  EXPECT_NE(try_access(target, kStart + (kLength - 15), 16, AccessKind::kRemoteWrite), '-');
  EXPECT_TRUE(unchanged());
  EXPECT_EQ(try_access(target, kStart + (kLength - 16), 16, AccessKind::kRemoteWrite), '-');
}

TEST_F(AccessCheckTest, M_06_a_zero_length_access_needs_a_valid_key_within_range) {
  const MemoryHandle handle = region(kRemoteRead);
  EXPECT_EQ(try_access(handle, kStart, 0, AccessKind::kRemoteRead), '-');
  EXPECT_EQ(try_access(handle, kStart + kLength, 0, AccessKind::kRemoteRead), '-');
  EXPECT_EQ(try_access(handle, VirtualAddress(kStart.value - 1), 0, AccessKind::kRemoteRead), 'e');
  EXPECT_EQ(try_access(handle, kStart + kLength + 1, 0, AccessKind::kRemoteRead), 'e');
  EXPECT_EQ(try_access(handle, kStart, 0, AccessKind::kRemoteWrite), 'f');
  EXPECT_EQ(try_access(handle, kStart, 0, AccessKind::kRemoteRead, kOtherPd), 'c');
  ASSERT_TRUE(table_.regions().deregister(handle));
  EXPECT_EQ(try_access(handle, kStart, 0, AccessKind::kRemoteRead), 'a');
}

}  // namespace access_check_test
}  // namespace splitnic::fabric
