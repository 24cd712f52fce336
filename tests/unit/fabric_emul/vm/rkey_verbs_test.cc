// AllocateRKey, BindRKey, UnbindRKey, DeallocateRKey: who may, of what, and what it leaves behind.
#include "tests/unit/fabric_emul/vm/driver_fixture.h"

namespace splitnic::fabric::testing::rkey_verbs_test {

constexpr ProcessId kNobody{99};

using RkeyVerbsTest = DriverTest;

TEST_P(RkeyVerbsTest, S000_19_one_key_or_several_all_or_none) {
  const auto keys = driver.allocate_rkeys(user, 5);
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE((*keys)[i], (*keys)[k]);
    EXPECT_EQ(remote((*keys)[i], EffectiveAddress(0), 0), 'a') << "bound to nothing";
  }
  const std::size_t used = adapter.memory().live_count();
  const std::size_t left = adapter.memory().entries_max() - used;
  EXPECT_TRUE(is_invalid(driver.allocate_rkeys(user, 0)));
  EXPECT_TRUE(is_invalid(driver.allocate_rkeys(kNobody, 1)));
  for (const std::size_t too_many : {left + 1, SIZE_MAX}) {
    const auto refused = driver.allocate_rkeys(user, too_many);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().errno_value(), ENOMEM);
    EXPECT_EQ(adapter.memory().live_count(), used) << "none";
  }
  EXPECT_TRUE(driver.allocate_rkeys(user, left));
}

TEST_P(RkeyVerbsTest, S000_19_a_deallocated_key_is_of_no_use) {
  const EffectiveAddress at = node.memory(user, 1);
  const MemoryHandle key = node.bound_key(user, at, 100);
  EXPECT_TRUE(is_invalid(driver.deallocate_rkey(other, key)));
  EXPECT_EQ(remote(key, at, 100), '-');
  ASSERT_TRUE(driver.deallocate_rkey(user, key));
  EXPECT_EQ(remote(key, at, 100), 'a');
  EXPECT_TRUE(is_invalid(driver.deallocate_rkey(user, key)));
  EXPECT_TRUE(is_invalid(driver.bind_rkey(user, key, {at, 1, kRemoteRead})));
  EXPECT_TRUE(is_invalid(driver.unbind_rkey(user, key)));
  const MemoryHandle region = driver.effective_key(user).value();
  EXPECT_TRUE(is_invalid(driver.deallocate_rkey(user, region))) << "no key of AllocateRKey";
  EXPECT_TRUE(is_invalid(driver.bind_rkey(user, region, {at, 1, kRemoteRead})));
  EXPECT_TRUE(is_invalid(driver.unbind_rkey(user, region)));
  EXPECT_TRUE(is_invalid(driver.deallocate_rkey(user, MemoryHandle(0xFFFFFFFF))));
}

TEST_P(RkeyVerbsTest, X_27_deallocation_of_a_bound_key_unbinds_it_and_counts_its_instance) {
  const EffectiveAddress at = node.memory(user, 1);
  const MemoryHandle key = node.bound_key(user, at, 100);
  ASSERT_EQ(windows_of(user), 1U);
  ASSERT_TRUE(driver.deallocate_rkey(user, key));
  EXPECT_EQ(windows_of(user), 0U) << "unbound";
  const MemoryHandle again = node.bound_key(user, at, 100);  // the only free index
  EXPECT_EQ(Key::parse(again.value).index, Key::parse(key.value).index);
  EXPECT_EQ(Key::parse(again.value).instance, Key::parse(key.value).instance + 1);
  EXPECT_EQ(remote(again, at, 1), '-');
  EXPECT_EQ(remote(key, at, 1), 'd');
}

TEST_P(RkeyVerbsTest, S000_20_any_bytes_and_no_entry_into_the_kernel) {
  const EffectiveAddress at = node.memory(user, 2) + 4091;  // over the end of a page
  const MemoryHandle key = node.key(user);
  const std::uint64_t entries = driver.entries();
  const std::uint64_t vmm_entries = vmm.entries();
  for (const std::uint64_t length : {13U, 1U}) {
    ASSERT_TRUE(driver.bind_rkey(user, key, {at, length, kRemoteWrite}));
    EXPECT_EQ(remote(key, at, length), '-');
    EXPECT_EQ(remote(key, at + length, 1), 'e');
    EXPECT_EQ(remote(key, EffectiveAddress(at.value - 1), 1), 'e');
    EXPECT_EQ(remote(key, at, length + 1), 'e');
  }
  ASSERT_TRUE(driver.unbind_rkey(user, key));
  EXPECT_EQ(driver.entries(), entries);
  EXPECT_EQ(vmm.entries(), vmm_entries);
  ASSERT_TRUE(driver.deallocate_rkey(user, key));
  EXPECT_GT(driver.entries(), entries);
}

// The bind of a work request, which names the implicit region, asks the segment table as well.
TEST_P(RkeyVerbsTest, S000_06_a_bind_in_queue_order_gives_no_more_than_the_segments_do) {
  const EffectiveAddress at = node.memory(user, 1);
  const EffectiveAddress read_only = node.memory(user, 1, 1, 2, kPageRead);
  const EffectiveAddress foreign = node.memory(other, 1);
  const MemoryHandle key = node.bound_key(user, at, 100);
  const MemoryHandle region = driver.effective_key(user).value();
  const auto bind = [&](EffectiveAddress from, std::uint64_t length, std::uint8_t rights) {
    return adapter.memory().windows().bind_reserved(adapter.memory().entry(key)->pd, key, region,
                                                    VirtualAddress(from.value), length, rights,
                                                    Qpn{});
  };
  EXPECT_EQ(bind(foreign, 1, kRemoteRead), AccessCheck::kF);
  EXPECT_EQ(bind(at, kVmPageBytes + 1, kRemoteRead), AccessCheck::kF);
  EXPECT_EQ(bind(read_only, 1, kRemoteWrite), AccessCheck::kF);
  EXPECT_EQ(remote(key, at, 100), '-') << "bound as it was";
  EXPECT_EQ(bind(read_only, 1, kRemoteRead), std::nullopt);
  EXPECT_NE(remote(key, at, 100), '-');
}

TEST_P(RkeyVerbsTest, S000_21_what_a_user_process_may_not_bind) {
  const EffectiveAddress at = node.memory(user, 1);
  const EffectiveAddress read_only = node.memory(user, 1, 1, 2, kPageRead);
  const EffectiveAddress foreign = node.memory(other, 1);
  const VirtualAddress virtual_at = vmm.to_virtual(user, at).value();
  const PhysicalAddress physical = vmm.to_physical(virtual_at).value();
  const MemoryHandle key = node.bound_key(user, at, 100);
  const RkeyRange kRefused[] = {
      {virtual_at, 1, kRemoteRead},
      {VirtualAddress(at.value), 1, kRemoteRead},
      {physical, 1, kRemoteRead},
      {foreign, 1, kRemoteRead},
      {EffectiveAddress(at.value - 1), 2, kRemoteRead},
      {at, kVmPageBytes + 1, kRemoteRead},
      {at + kVmPageBytes, 1, kRemoteRead},
      {read_only, 1, kRemoteWrite},
      {read_only, 1, kRemoteRead | kRemoteWrite},
      {at, 0, kRemoteRead},
      {EffectiveAddress(0), 1, kRemoteRead},
      {EffectiveAddress(UINT64_MAX), 1, kRemoteRead},
      {EffectiveAddress(UINT64_MAX), UINT64_MAX, kRemoteRead},
      {at, UINT64_MAX, kRemoteRead},
      {at, 0 - at.value, kRemoteRead},
      {at, 1, 0},
      {at, 1, kLocalRead},
      {at, 1, kRemoteRead | kWindowBind},
      {at, 1, 0x80 | kRemoteRead},
  };
  for (const RkeyRange& range : kRefused) {
    const auto index = &range - kRefused;
    EXPECT_TRUE(is_invalid(driver.bind_rkey(user, key, range))) << index;
    EXPECT_EQ(remote(key, at, 100), '-') << index << ": bound as it was";
  }
  EXPECT_TRUE(is_invalid(driver.bind_rkey(other, key, {foreign, 1, kRemoteRead})));
  EXPECT_TRUE(is_invalid(driver.bind_rkey(kNobody, key, {at, 1, kRemoteRead})));
  EXPECT_EQ(remote(key, at, 100), '-');
  EXPECT_TRUE(driver.bind_rkey(user, key, {read_only, 4096, kRemoteRead}));
}

TEST_P(RkeyVerbsTest, S000_21_a_kernel_process_binds_effective_or_virtual_addresses) {
  const EffectiveAddress at = node.memory(kernel, 2);
  const VirtualAddress virtual_at = vmm.to_virtual(kernel, at).value();
  const MemoryHandle key = node.key(kernel);
  ASSERT_TRUE(driver.bind_rkey(kernel, key, {at, 5000, kRemoteWrite}));
  EXPECT_EQ(remote(kernel, key, at.value, 5000), '-');
  EXPECT_EQ(remote(kernel, key, virtual_at.value, 1), 'e');
  ASSERT_TRUE(driver.bind_rkey(kernel, key, {virtual_at, 5000, kRemoteWrite}));
  EXPECT_EQ(remote(kernel, key, virtual_at.value, 5000), '-');
  EXPECT_EQ(remote(kernel, key, at.value, 1), 'e');
  const RkeyRange kRefused[] = {
      {vmm.to_physical(virtual_at).value(), 1, kRemoteRead},
      {node.memory(user, 1), 1, kRemoteRead},
      {VirtualAddress(0), 1, kRemoteRead},
      {virtual_at, 0, kRemoteRead},
      {VirtualAddress(UINT64_MAX), 1, kRemoteRead},
      {virtual_at, 0 - virtual_at.value, kRemoteRead},
  };
  for (const RkeyRange& range : kRefused) {
    EXPECT_TRUE(is_invalid(driver.bind_rkey(kernel, key, range))) << (&range - kRefused);
  }
  EXPECT_EQ(remote(kernel, key, virtual_at.value, 5000), '-');
}

TEST_P(RkeyVerbsTest, S000_22_unbinding_is_binding_of_nothing_by_the_owner) {
  const EffectiveAddress at = node.memory(user, 1);
  const MemoryHandle key = node.bound_key(user, at, 100);
  EXPECT_TRUE(is_invalid(driver.unbind_rkey(other, key)));
  EXPECT_TRUE(is_invalid(driver.unbind_rkey(kernel, key)));
  EXPECT_EQ(remote(key, at, 1), '-');
  ASSERT_TRUE(driver.unbind_rkey(user, key));
  EXPECT_EQ(remote(key, at, 1), 'a');
  EXPECT_EQ(windows_of(user), 0U);
  EXPECT_TRUE(driver.unbind_rkey(user, key)) << "there is nothing to do";
  ASSERT_TRUE(driver.bind_rkey(user, key, {at, 50, kRemoteWrite})) << "the same key again";
  EXPECT_EQ(remote(key, at, 50), '-');
  ASSERT_TRUE(driver.bind_rkey(user, key, {EffectiveAddress(0), 0}));
  EXPECT_EQ(remote(key, at, 1), 'a');
}

TEST_P(RkeyVerbsTest, S000_23_a_key_protects_one_range_at_a_time) {
  const EffectiveAddress one = node.memory(user, 1, 1);
  const EffectiveAddress two = node.memory(user, 1, 2);
  const MemoryHandle key = node.bound_key(user, one, 100);
  ASSERT_TRUE(driver.bind_rkey(user, key, {two, 200, kRemoteWrite}));
  EXPECT_EQ(remote(key, two, 200), '-');
  EXPECT_EQ(remote(key, one, 1), 'e');
  EXPECT_EQ(windows_of(user), 1U);
  EXPECT_EQ(remote(other, key, two.value, 1), 'c') << "another address space";
}

TEST_P(RkeyVerbsTest, S000_25_a_key_with_one_shot_can_be_bound_again) {
  const EffectiveAddress at = node.memory(user, 1);
  const MemoryHandle key = node.key(user);
  Mrwt& table = adapter.memory();
  for (std::uint32_t shot = 0; shot < 2; ++shot) {
    ASSERT_TRUE(driver.bind_rkey(user, key, {at, 100, kRemoteWrite, true}));
    EXPECT_TRUE(table.one_touch().touch(key, Qpn(1), Psn(shot)));
    EXPECT_FALSE(table.one_touch().touch(key, Qpn(1), Psn(shot + 1)));
    table.one_touch().spend(key, Qpn(1), Psn(shot));
    EXPECT_EQ(remote(key, at, 1), 'a');
  }
  ASSERT_TRUE(driver.bind_rkey(user, key, {at, 100, kRemoteWrite}));
  EXPECT_TRUE(table.one_touch().touch(key, Qpn(1), Psn(7)));
  EXPECT_TRUE(table.one_touch().touch(key, Qpn(1), Psn(8))) << "of as many uses as it gets";
}

INSTANTIATE_TEST_SUITE_P(S000_30, RkeyVerbsTest, ::testing::ValuesIn(kForms), FormName{});

}  // namespace splitnic::fabric::testing::rkey_verbs_test
