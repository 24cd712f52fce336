// Entries: their fields, their types, and the checks of iSCSI transfers.
#include "fabric_emul/mem/mrwt_entry.h"

#include <gtest/gtest.h>

#include <array>

#include "fabric_emul/mem/access_check.h"
#include "fabric_emul/mem/placement.h"
#include "tests/unit/fabric_emul/mem/frames.h"
#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric {
namespace mrwt_entry_test {

using namespace mrwt_fixture;

class EntryTest : public MrwtTest {
 protected:
  // The letter of an iSCSI transfer, '-' when it is allowed.
  char transfer(MemoryHandle handle, std::uint64_t offset, std::uint64_t length, IscsiTransfer what,
                PdId pd = kPd) {
    const AccessResult result = table_.access_iscsi(handle, offset, length, what, pd);
    return result.ok() ? '-' : static_cast<char>(result.failed);
  }
  MemoryHandle iscsi(std::uint8_t rights, std::uint8_t control) {
    return table_.regions().register_iscsi(kPd, memory(), rights, control).value();
  }
  static constexpr std::uint8_t kRemote = kRemoteRead | kRemoteWrite;
};

TEST_F(EntryTest, S002_04_X_35_regions_windows_and_iscsi_regions_fill_the_same_fields) {
  Mrwt table(4, random_, true);
  const frames::Frames frames(3);
  const std::vector<std::byte*> pages = frames.pages({2, 0});
  const MemoryHandle region =
      table.regions()
          .register_pages(kPd, {pages, 12, 5, 8000}, kAll, {kStart, {}, nullptr, nullptr})
          .value();
  const MrwtEntry r = *table.entry(region);
  EXPECT_EQ(r.start, kStart);
  EXPECT_EQ(r.length, 8000U);
  EXPECT_EQ(r.pd, kPd);
  EXPECT_EQ(r.instance, 1);
  EXPECT_EQ(r.type, EntryType::kRegion);
  EXPECT_TRUE(r.is_valid);
  EXPECT_EQ(r.rights, kAll);
  EXPECT_FALSE(r.one_touch_enabled || r.touched);
  EXPECT_EQ(r.att_control, AttControl::kFirstOrder);
  EXPECT_EQ(r.page_log2, 12);
  EXPECT_EQ(r.iscsi_control, 0);
  EXPECT_EQ(r.stored_ddp_sn, 0U);
  ASSERT_NE(r.att, nullptr);
  EXPECT_EQ(r.att->page(0), pages[0]);
  EXPECT_EQ(r.att->page(1), pages[1]);
  EXPECT_EQ(r.att_offset, 5U);
  EXPECT_EQ(r.memory, nullptr);

  const MemoryHandle window =
      table.windows().bind_window(kPd, region, kStart + 100, 50, kRemoteRead, kQp).value();
  const MrwtEntry w = *table.entry(window);
  EXPECT_EQ(w.start, kStart + 100);
  EXPECT_EQ(w.length, 50U);
  EXPECT_EQ(w.pd, kPd);
  EXPECT_EQ(w.bound_qp, kQp);
  EXPECT_EQ(w.type, EntryType::kWindow);
  EXPECT_TRUE(w.is_valid);
  EXPECT_EQ(w.rights, kRemoteRead);
  EXPECT_EQ(w.parent_index, Key::parse(region.value).index);
  EXPECT_EQ(w.att_control, r.att_control);
  EXPECT_EQ(w.page_log2, r.page_log2);
  EXPECT_EQ(w.att, r.att);
  EXPECT_EQ(w.att_offset, 105U);
  EXPECT_EQ(table.entry(region)->windows_bound, 1U);

  const MemoryHandle command =
      table.regions().register_iscsi(kPd, memory(), kRemoteWrite, kDeviceRead).value();
  const MrwtEntry i = *table.entry(command);
  EXPECT_EQ(i.start, VirtualAddress(0));
  EXPECT_EQ(i.length, kLength);
  EXPECT_EQ(i.type, EntryType::kIscsiRegion);
  EXPECT_EQ(i.iscsi_control, kDeviceRead);
  EXPECT_EQ(i.att_control, AttControl::kDirect);
  EXPECT_EQ(i.page_log2, 0);
  EXPECT_EQ(i.memory, memory().data());

  ASSERT_TRUE(table.regions().deregister(command));
  EXPECT_EQ(table.entry(command), nullptr);
  EXPECT_EQ(table.release_domain(kPd), 2U);
  EXPECT_EQ(table.regions().atts().count(), 0U);
}

TEST_F(EntryTest, S002_05_the_four_values_and_a_reserved_entry_is_refused_everywhere) {
  EXPECT_EQ(static_cast<int>(EntryType::kRegion), 0b00);
  EXPECT_EQ(static_cast<int>(EntryType::kWindow), 0b01);
  EXPECT_EQ(static_cast<int>(EntryType::kIscsiRegion), 0b10);
  EXPECT_EQ(static_cast<int>(EntryType::kReserved), 0b11);
  MrwtEntry entry;
  entry.type = EntryType::kReserved;
  for (const MrwtProfile profile : {MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows}) {
    for (const AccessKind kind : kKinds) EXPECT_FALSE(check_entry_type(entry, kind, profile));
  }
  EXPECT_FALSE(check_iscsi_type(entry));
}

TEST_F(EntryTest, S002_13_check_b_entry_type_against_path) {
  for (const MrwtProfile profile : {MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows}) {
    Mrwt table(4, random_, false, profile);
    const MemoryHandle region =
        table.regions().register_region(kPd, memory(), kAll, kStart).value();
    const MemoryHandle window =
        table.windows().bind_window(kPd, region, kStart, 100, kAccessRights, Qpn{}).value();
    const MemoryHandle command =
        table.regions().register_iscsi(kPd, memory(), kRemote, kDeviceRead | kDeviceWrite).value();
    const char strict = profile == MrwtProfile::kStrictWindows ? 'b' : '-';
    struct Row {
      MemoryHandle handle;
      char local, remote, iscsi;
    };
    const std::array rows{Row{region, '-', strict, 'b'}, Row{window, 'b', '-', 'b'},
                          Row{command, 'b', 'b', '-'}};
    for (const Row& row : rows) {
      const VirtualAddress start = table.start_of(row.handle);
      for (const AccessKind kind : kKinds) {
        const AccessResult got = table.access(row.handle, start, 1, kind, kPd, kQp);
        EXPECT_EQ(got.ok() ? '-' : static_cast<char>(got.failed),
                  is_remote(kind) ? row.remote : row.local);
      }
      for (const IscsiTransfer what : {IscsiTransfer::kR2t, IscsiTransfer::kDataIn}) {
        const AccessResult got = table.access_iscsi(row.handle, 0, 1, what, kPd);
        EXPECT_EQ(got.ok() ? '-' : static_cast<char>(got.failed), row.iscsi);
      }
    }
    EXPECT_EQ(table.windows().check_bind(kPd, command, VirtualAddress(0), 1), AccessCheck::kB);
  }
}

TEST_F(EntryTest, S002_12_S002_14_to_17_X_33_the_checks_of_an_iscsi_transfer) {
  const MemoryHandle command = iscsi(kRemote, kDeviceRead | kDeviceWrite);
  for (const IscsiTransfer what : {IscsiTransfer::kR2t, IscsiTransfer::kDataIn}) {
    EXPECT_EQ(transfer(command, 0, kLength, what), '-');
    EXPECT_EQ(transfer(command, 0, kLength + 1, what), 'e');
    EXPECT_EQ(transfer(command, 1, kLength, what), 'e');
    EXPECT_EQ(transfer(command, kLength, 1, what), 'e');
    EXPECT_EQ(transfer(command, kLength, 0, what), '-');
    EXPECT_EQ(transfer(command, 8, kMax - 7, what), 'e') << "the sum wraps to 0";
    EXPECT_EQ(transfer(command, kMax, 2, what), 'e');
    EXPECT_EQ(transfer(command, 0, 1, what, kOtherPd), 'c');
    ASSERT_TRUE(table_.set_valid(command, false));
    EXPECT_EQ(transfer(command, 0, 1, what), 'a');
    ASSERT_TRUE(table_.set_valid(command, true));
  }
  EXPECT_EQ(table_.access_iscsi(command, 77, 1, IscsiTransfer::kR2t, kPd).at, memory().data() + 77);
  ASSERT_TRUE(table_.regions().deregister(command));
  const MemoryHandle again = iscsi(kRemoteRead, kDeviceWrite);
  EXPECT_EQ(transfer(command, 0, 1, IscsiTransfer::kR2t), 'd') << "the key of an earlier command";
  EXPECT_EQ(transfer(again, 0, 1, IscsiTransfer::kR2t), '-');
  EXPECT_EQ(transfer(again, 0, 1, IscsiTransfer::kDataIn), 'f');
  const MemoryHandle other = iscsi(kRemoteWrite, kDeviceRead);
  EXPECT_EQ(transfer(other, 0, 1, IscsiTransfer::kR2t), 'f');
  EXPECT_EQ(transfer(other, 0, 1, IscsiTransfer::kDataIn), '-');
}

TEST_F(EntryTest, S002_18_check_g_the_command_must_go_the_way_of_the_transfer) {
  const MemoryHandle reads = iscsi(kRemote, kDeviceRead);
  EXPECT_EQ(transfer(reads, 0, 1, IscsiTransfer::kR2t), 'g');
  EXPECT_EQ(transfer(reads, 0, 1, IscsiTransfer::kDataIn), '-');
  const MemoryHandle writes = iscsi(kRemote, kDeviceWrite);
  EXPECT_EQ(transfer(writes, 0, 1, IscsiTransfer::kDataIn), 'g');
  EXPECT_EQ(transfer(writes, 0, 1, IscsiTransfer::kR2t), '-');
  EXPECT_FALSE(table_.regions().register_iscsi(kPd, memory(), kRemote, 0));
  EXPECT_FALSE(table_.regions().register_iscsi(kPd, memory(), kRemote, 4));
  EXPECT_FALSE(table_.regions().register_iscsi(kPd, memory(), kLocalRead, kDeviceRead));
}

TEST_F(EntryTest, S002_18_check_g_a_region_without_the_bind_right_gets_no_window) {
  const MemoryHandle closed = region(kAccessRights);
  EXPECT_EQ(table_.windows().check_bind(kPd, closed, kStart, 1), AccessCheck::kG);
  const auto refused = table_.windows().bind_window(kPd, closed, kStart, 1, kRemoteRead, kQp);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "binding a memory window: check g refuses it");
  EXPECT_EQ(table_.entry(closed)->windows_bound, 0U);
  EXPECT_EQ(table_.live_count(), 1U);
  const MemoryHandle open = region(kAccessRights | kWindowBind);
  EXPECT_TRUE(table_.windows().bind_window(kPd, open, kStart, 1, kRemoteRead, kQp));
}

TEST_F(EntryTest, S004_07_a_write_right_after_deregistration_is_refused) {
  const MemoryHandle handle = region();
  const std::array<std::byte, 64> in{};
  ASSERT_TRUE(table_.entry(handle)->is_valid);
  ASSERT_TRUE(table_.regions().deregister(handle));
  const PlacementResult refused = write_remote(table_, kPd, kQp, handle, kStart, in);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.failed, AccessCheck::kA);
  EXPECT_TRUE(unchanged());
  const MemoryHandle again = region();
  EXPECT_EQ(write_remote(table_, kPd, kQp, handle, kStart, in).failed, AccessCheck::kD);
  EXPECT_TRUE(unchanged()) << "the old key does not reach the memory's next registration";
  EXPECT_TRUE(write_remote(table_, kPd, kQp, again, kStart, in).ok());
  EXPECT_FALSE(unchanged());
}

TEST_F(EntryTest, S002_35_a_peer_ends_no_region_where_only_windows_serve_it) {
  for (const MrwtProfile profile : {MrwtProfile::kRegionsOk, MrwtProfile::kStrictWindows}) {
    const bool is_strict = profile == MrwtProfile::kStrictWindows;
    Mrwt table(4, random_, false, profile);
    const MemoryHandle region =
        table.regions().register_region(kPd, memory(), kAll, kStart).value();
    const MemoryHandle window =
        table.windows().bind_window(kPd, region, kStart, 8, kRemoteRead, kQp).value();
    EXPECT_EQ(table.end_by_peer(kPd, kQp, window), std::nullopt);
    EXPECT_EQ(table.end_by_peer(kPd, kQp, region),
              is_strict ? std::optional(AccessCheck::kB) : std::nullopt);
    EXPECT_EQ(table.entry(region) != nullptr, is_strict);
  }
}

}  // namespace mrwt_entry_test
}  // namespace splitnic::fabric
