// Queue pairs of processes, what the driver keeps of them, and how it follows the VMM.
#include "fabric_emul/vm/driver.h"

#include "tests/unit/fabric_emul/vm/driver_fixture.h"

namespace splitnic::fabric::testing::driver_test {

constexpr ProcessId kNobody{99};

using OpenQpTest = DriverTest;

TEST_P(OpenQpTest, S000_27_ten_queue_pairs_have_one_common_state) {
  const ProcessId process = vmm.create_process(ProcessKind::kUser);
  const std::size_t states = driver.process_count();
  const std::size_t registrations = vmm.registrations();
  const std::size_t entries = adapter.memory().live_count();
  std::vector<Qpn> opened;
  for (int i = 0; i < 10; ++i) {
    const auto qpn = driver.open_qp(process, node.init);
    ASSERT_TRUE(qpn);
    opened.push_back(*qpn);
    EXPECT_EQ(adapter.find_qp(*qpn)->service(), node.init.service);
  }
  EXPECT_EQ(driver.process_count(), states + 1) << "one copy of the segment table";
  EXPECT_EQ(vmm.registrations(), registrations + 1);
  EXPECT_EQ(adapter.memory().live_count(), entries + 1) << "one implicit region";
  for (const Qpn qpn : opened) ASSERT_TRUE(driver.close_qp(process, qpn));
  EXPECT_EQ(driver.process_count(), states);
  EXPECT_EQ(vmm.registrations(), registrations);
  EXPECT_EQ(adapter.memory().live_count(), entries);
}

TEST_P(OpenQpTest, S000_27_state_of_a_queue_pair) {
  QpInit init = node.init;
  init.common.send_depth = 17;
  init.common.receive_depth = 5;
  init.service = Service::kUc;
  init.accepts_rdma = false;
  const Qpn qpn = driver.open_qp(user, init).value();
  const auto record = driver.record(qpn);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->process, user);
  EXPECT_EQ(record->send_depth, 17U);
  EXPECT_EQ(record->receive_depth, 5U);
  EXPECT_EQ(record->service, Service::kUc);
  EXPECT_FALSE(record->accepts_rdma);
  ASSERT_TRUE(driver.close_qp(user, qpn));
  EXPECT_FALSE(driver.record(qpn));
}

TEST_P(OpenQpTest, S000_27_only_for_processes_and_only_their_own) {
  const std::size_t qps = adapter.qp_count();
  EXPECT_TRUE(is_invalid(driver.open_qp(kNobody, node.init)));
  QpInit empty = node.init;
  empty.common.send_depth = 0;
  const ProcessId fresh = vmm.create_process(ProcessKind::kUser);
  EXPECT_TRUE(is_invalid(driver.open_qp(fresh, empty)));
  EXPECT_TRUE(is_invalid(driver.effective_key(fresh))) << "nothing is left of it";
  EXPECT_EQ(vmm.registrations(), 3U);
  const Qpn qpn = driver.open_qp(user, node.init).value();
  EXPECT_TRUE(is_invalid(driver.close_qp(other, qpn)));
  EXPECT_TRUE(is_invalid(driver.close_qp(kNobody, qpn)));
  EXPECT_EQ(adapter.qp_count(), qps + 1);
  EXPECT_TRUE(is_invalid(driver.virtual_key(user)));
  EXPECT_TRUE(driver.virtual_key(kernel));
}

TEST_P(OpenQpTest, S000_27_the_end_of_a_process_ends_its_queue_pairs_and_keys) {
  const EffectiveAddress at = node.memory(user, 1);
  const MemoryHandle key = node.bound_key(user, at, 100);
  const PdId pd = node.domain(user);
  const std::size_t qps = adapter.qp_count();
  ASSERT_EQ(remote(key, at, 1), '-');
  ASSERT_TRUE(vmm.end_process(user));
  EXPECT_EQ(adapter.qp_count(), qps - 1);
  EXPECT_EQ(vmm.registrations(), 2U);
  EXPECT_EQ(adapter.memory()
                .access(key, VirtualAddress(at.value), 1, AccessKind::kRemoteWrite, pd, Qpn(1))
                .failed,
            AccessCheck::kA);
  EXPECT_TRUE(is_invalid(driver.bind_rkey(user, key, {at, 1, kRemoteRead})));
  EXPECT_FALSE(vmm.end_process(user));
}

TEST_P(OpenQpTest, X_26_the_implicit_region_covers_the_space_without_remote_rights) {
  const MemoryHandle region = driver.effective_key(user).value();
  const MrwtEntry entry = *adapter.memory().entry(region);
  EXPECT_EQ(entry.type, EntryType::kRegion);
  EXPECT_EQ(entry.start.value, 0U);
  EXPECT_EQ(entry.length, UINT64_MAX);
  EXPECT_EQ(entry.rights, kLocalRead | kLocalWrite | kWindowBind);
  EXPECT_EQ(entry.attribute, RegionAttribute::kOnDemand);
  const EffectiveAddress at = node.memory(user, 1);
  EXPECT_EQ(remote(region, at, 1), 'f');
  EXPECT_EQ(remote(user, region, at.value, 1, AccessKind::kLocalWrite), '-');
  // A key is a window on it.
  const MemoryHandle key = node.bound_key(user, at, 10);
  EXPECT_EQ(adapter.memory().entry(key)->type, EntryType::kWindow);
  EXPECT_EQ(adapter.memory().entry(region)->windows_bound, 1U);
  EXPECT_FALSE(adapter.memory().regions().set_page(region, 0, nullptr));
  EXPECT_FALSE(
      adapter.memory().regions().register_shared(PdId(77), region, kLocalRead, VirtualAddress(0)));
}

TEST_P(OpenQpTest, S000_28_added_grown_shrunk_remapped_removed) {
  const Mrwt& table = adapter.memory();
  const MemoryHandle region = driver.effective_key(user).value();
  const auto first_byte = [&](EffectiveAddress at) {
    const AccessResult found = table.access(region, VirtualAddress(at.value), 1,
                                            AccessKind::kLocalRead, node.domain(user), Qpn(1));
    return found.ok() ? std::to_integer<int>(*found.at) : -1;
  };
  const std::uint64_t entries = driver.entries();
  const EffectiveAddress one = node.memory(user, 2, 0, 1);
  EXPECT_EQ(driver.entries(), entries + 1) << "the VMM calls SegmentTableUpdate";
  ASSERT_TRUE(driver.map_local_page(user, one));
  const auto pattern = VmNode::pattern_of(1, 2 * kVmPageBytes);
  EXPECT_EQ(first_byte(one), std::to_integer<int>(pattern[0]));

  const EffectiveAddress behind = one + 2 * kVmPageBytes;
  EXPECT_TRUE(is_invalid(driver.map_local_page(user, behind)));
  ASSERT_TRUE(vmm.resize_segment(user, one, 3));
  ASSERT_TRUE(driver.map_local_page(user, behind));
  EXPECT_EQ(first_byte(behind), 0) << "grown";
  ASSERT_TRUE(vmm.resize_segment(user, one, 2));
  EXPECT_EQ(first_byte(behind), -1) << "shrunk";
  EXPECT_EQ(driver.unmapped_accesses(), 0U) << "that is no unmapped address";
  ASSERT_TRUE(vmm.resize_segment(user, one, 3));
  EXPECT_EQ(first_byte(behind), -1) << "another page, that nobody mapped";
  EXPECT_EQ(driver.unmapped_accesses(), 1U);
  ASSERT_TRUE(vmm.resize_segment(user, one, 2));

  const EffectiveAddress two = node.memory(user, 1, 2);
  const int of_two = std::to_integer<int>(VmNode::pattern_of(2, 1)[0]);
  ASSERT_NE(first_byte(one), of_two);
  ASSERT_TRUE(vmm.remap_segment(user, one, two));
  EXPECT_EQ(first_byte(one), of_two) << "remapped";
  ASSERT_TRUE(vmm.remove_segment(user, two));
  EXPECT_EQ(first_byte(two), -1);
  EXPECT_EQ(first_byte(one), of_two) << "its memory is still used";
  ASSERT_TRUE(vmm.remove_segment(user, one));
  EXPECT_EQ(first_byte(one), -1);
  EXPECT_EQ(node.arena->free_frames(), VmNode::kFrames);
}

TEST_P(OpenQpTest, S000_28_protection_and_other_processes) {
  const EffectiveAddress at = node.memory(user, 1);
  const MemoryHandle key = node.bound_key(user, at, 100);
  const EffectiveAddress elsewhere = node.memory(other, 1);
  const MemoryHandle theirs = node.bound_key(other, elsewhere, 100);
  ASSERT_TRUE(vmm.protect_segment(user, at, kPageRead));
  EXPECT_EQ(remote(key, at, 1), 'f');
  EXPECT_EQ(remote(user, key, at.value, 1, AccessKind::kRemoteRead), '-');
  EXPECT_TRUE(is_invalid(driver.bind_rkey(user, key, {at, 100, kRemoteWrite})));
  EXPECT_EQ(remote(other, theirs, elsewhere.value, 1), '-');
}

TEST_P(OpenQpTest, S000_29_a_kernel_process_reaches_the_same_bytes_by_each_form) {
  const EffectiveAddress at = node.memory(kernel, 1, 0, 6);
  const VirtualAddress virtual_at = vmm.to_virtual(kernel, at).value();
  const PhysicalAddress physical = vmm.to_physical(virtual_at).value();
  const std::uint64_t in_process = reinterpret_cast<std::uintptr_t>(vmm.at(physical));
  const VirtualAddress by_effective = driver.map_local_page(kernel, at).value();
  const VirtualAddress by_virtual = driver.map_local_page(kernel, virtual_at).value();
  const VirtualAddress by_physical = driver.map_local_page(kernel, physical).value();
  EXPECT_EQ(by_effective.value, at.value);
  EXPECT_EQ(by_virtual, virtual_at);
  for (const VirtualAddress reported : {by_effective, by_virtual, by_physical}) {
    EXPECT_NE(reported.value, physical.value);
    EXPECT_NE(reported.value, in_process);
  }
  const auto place = [&](MemoryHandle key, VirtualAddress reported) {
    const AccessResult found =
        adapter.memory().access(key, VirtualAddress(reported.value + 9), 1, AccessKind::kLocalRead,
                                node.domain(kernel), Qpn(1));
    return found.at;
  };
  const MemoryHandle key = driver.virtual_key(kernel).value();
  EXPECT_EQ(place(driver.effective_key(kernel).value(), by_effective), vmm.at(physical) + 9);
  EXPECT_EQ(place(key, by_virtual), vmm.at(physical) + 9);
  EXPECT_EQ(place(key, by_physical), vmm.at(physical) + 9);
}

TEST_P(OpenQpTest, S000_29_what_cannot_be_mapped) {
  const EffectiveAddress at = node.memory(user, 1, 0, 6);
  const VirtualAddress virtual_at = vmm.to_virtual(user, at).value();
  const PhysicalAddress physical = vmm.to_physical(virtual_at).value();
  const LocalAddress not_for_users[] = {virtual_at, physical, at + kVmPageBytes,
                                        EffectiveAddress(0), EffectiveAddress(UINT64_MAX)};
  for (const LocalAddress& address : not_for_users) {
    EXPECT_TRUE(is_invalid(driver.map_local_page(user, address)));
  }
  EXPECT_TRUE(is_invalid(driver.map_local_page(other, at))) << "another process's";
  EXPECT_TRUE(is_invalid(driver.map_local_page(kNobody, at)));
  const LocalAddress not_for_kernels[] = {
      at,
      VirtualAddress(0),
      VirtualAddress(virtual_at.value + kVmPageBytes),
      PhysicalAddress(VmNode::kFrames * kVmPageBytes),
      PhysicalAddress(UINT64_MAX),
      PhysicalAddress((std::uint64_t{1} << 44) + physical.value)};
  for (const LocalAddress& address : not_for_kernels) {
    EXPECT_TRUE(is_invalid(driver.map_local_page(kernel, address)));
  }
  ASSERT_TRUE(vmm.take_out(page_of(virtual_at)));
  EXPECT_TRUE(is_invalid(driver.map_local_page(kernel, physical))) << "no page is in it";
  // No frame for a page that is out: an error, and the page is still not mapped.
  while (node.arena->take() != nullptr) continue;
  const auto full = driver.map_local_page(user, at);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().errno_value(), ENOMEM);
}

TEST_P(OpenQpTest, S000_24_an_address_that_is_not_mapped_calls_the_handler_once) {
  std::vector<UnmappedAccess> heard;
  driver.set_default_error_handler([&](const UnmappedAccess& access) { heard.push_back(access); });
  const EffectiveAddress at = node.memory(user, 3, 1, 1);
  const MemoryHandle key = node.bound_key(user, at, 3 * kVmPageBytes);
  EXPECT_EQ(remote(key, at, kVmPageBytes), '-');
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(remote(key, at, 3 * kVmPageBytes), 'a') << "its second page is not mapped";
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].process, user);
  EXPECT_EQ(heard[0].kind, AccessKind::kRemoteWrite);
  EXPECT_EQ(heard[0].address, vmm.to_virtual(user, at + kVmPageBytes).value());
  EXPECT_EQ(driver.unmapped_accesses(), 1U);
  ASSERT_TRUE(vmm.remove_segment(user, at));
  EXPECT_EQ(remote(key, at, 1), 'a');
  EXPECT_EQ(heard.size(), 1U) << "no segment: refused, and nothing else";
}

TEST_P(OpenQpTest, S000_31_a_page_that_is_out_comes_in_where_there_is_room) {
  const EffectiveAddress at = node.memory(user, 2);
  const auto content = VmNode::pattern_of(1, 2 * kVmPageBytes);
  const MemoryHandle key = node.bound_key(user, at, 2 * kVmPageBytes);
  const VirtualPage page = page_of(vmm.to_virtual(user, at).value());
  ASSERT_TRUE(vmm.take_out(page));
  EXPECT_TRUE(is_invalid(vmm.take_out(page)));
  const std::uint64_t before = vmm.brought_in();
  std::vector<std::byte> read(content.size());
  ASSERT_TRUE(
      read_remote(adapter.memory(), node.domain(user), Qpn(1), key, VirtualAddress(at.value), read)
          .ok());
  EXPECT_EQ(read, content);
  EXPECT_EQ(vmm.brought_in(), before + 1);
  ASSERT_TRUE(vmm.take_out(page));
  while (node.arena->take() != nullptr) continue;
  EXPECT_EQ(remote(key, at, 1), 'a');
  EXPECT_EQ(vmm.without_frame(), 1U);
  EXPECT_EQ(driver.unmapped_accesses(), 0U);
}

// A page moves while the driver has no process and is not notified.
TEST_P(OpenQpTest, S000_30_a_page_that_moved_unnoticed_is_not_reached_at_its_old_frame) {
  const ProcessId process = vmm.create_process(ProcessKind::kUser);
  const Qpn qpn = driver.open_qp(process, node.init).value();
  const EffectiveAddress at = node.memory(process, 1);
  for (const ProcessId one : {user, other, kernel}) ASSERT_TRUE(vmm.end_process(one));
  ASSERT_TRUE(driver.close_qp(process, qpn));
  ASSERT_EQ(driver.process_count(), 0U);
  ASSERT_TRUE(vmm.take_out(page_of(vmm.to_virtual(process, at).value())));
  const ProcessId stranger = vmm.create_process(ProcessKind::kUser);
  const EffectiveAddress theirs = vmm.add_segment(stranger, 1).value();
  ASSERT_TRUE(vmm.store(stranger, theirs, VmNode::pattern_of(9, kVmPageBytes)));  // that frame

  ASSERT_TRUE(driver.open_qp(process, node.init));
  const auto first_byte = [&] {
    const AccessResult found =
        adapter.memory().access(driver.effective_key(process).value(), VirtualAddress(at.value), 1,
                                AccessKind::kLocalRead, node.domain(process), Qpn(1));
    return found.ok() ? std::to_integer<int>(*found.at) : -1;
  };
  const int own = std::to_integer<int>(VmNode::pattern_of(1, 1)[0]);
  const bool is_private = GetParam() == PageTableForm::kPrivate;
  EXPECT_EQ(first_byte(), is_private ? -1 : own) << "the private table has to map it once more";
  ASSERT_TRUE(driver.map_local_page(process, at));
  EXPECT_EQ(first_byte(), own);
}

INSTANTIATE_TEST_SUITE_P(S000_30, OpenQpTest, ::testing::ValuesIn(kForms), FormName{});

}  // namespace splitnic::fabric::testing::driver_test
