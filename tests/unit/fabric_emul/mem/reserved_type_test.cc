// An entry of type 11: no call makes one, and every call that meets one refuses it [S002-05].
#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric {
namespace reserved_type_test {

using namespace mrwt_fixture;

class ReservedTypeTest : public MrwtTest {
 protected:
  // Turns a live entry into one of type 11, as a memory fault would.
  void make_reserved(MemoryHandle handle) {
    const_cast<MrwtEntry*>(table_.entry(handle))->type = EntryType::kReserved;
  }
};

TEST_F(ReservedTypeTest, S002_05_no_access_passes_through_an_entry_of_type_11) {
  const MemoryHandle handle = region();
  make_reserved(handle);
  for (const AccessKind kind : kKinds) {
    EXPECT_EQ(try_access(table_, handle, kStart, 1, kind), 'b') << static_cast<int>(kind);
  }
  for (const IscsiTransfer transfer : {IscsiTransfer::kR2t, IscsiTransfer::kDataIn}) {
    EXPECT_EQ(table_.access_iscsi(handle, 0, 1, transfer, kPd).failed, AccessCheck::kB);
  }
}

TEST_F(ReservedTypeTest, S002_05_nothing_is_bound_to_an_entry_of_type_11) {
  const MemoryHandle handle = region();
  const MemoryHandle window = table_.windows().reserve_window(kPd).value();
  make_reserved(handle);
  EXPECT_EQ(table_.windows().check_bind(kPd, handle, kStart, 1), AccessCheck::kB);
  EXPECT_FALSE(table_.windows().bind_window(kPd, handle, kStart, 1, kRemoteRead, Qpn{}));
  EXPECT_EQ(table_.windows().bind_reserved(kPd, window, handle, kStart, 1, kRemoteRead, Qpn{}),
            AccessCheck::kB);
  EXPECT_FALSE(table_.regions().register_shared(kPd, handle, kRemoteRead));
  EXPECT_EQ(table_.entry(handle)->windows_bound, 0U);
}

TEST_F(ReservedTypeTest, S002_05_an_entry_of_type_11_is_no_window) {
  const MemoryHandle handle = region();
  const MemoryHandle window = table_.windows().reserve_window(kPd).value();
  make_reserved(window);
  EXPECT_EQ(table_.windows().bind_reserved(kPd, window, handle, kStart, 1, kRemoteRead, Qpn{}),
            AccessCheck::kA);
  EXPECT_FALSE(table_.windows().unbind(window));
  EXPECT_EQ(table_.windows().unbind_of(kPd, window), AccessCheck::kB);
  EXPECT_TRUE(table_.windows().clear_window(kPd, window).has_value());
  EXPECT_NE(table_.entry(window), nullptr) << "it stays as it is";
}

TEST_F(ReservedTypeTest, S002_05_neither_owner_nor_peer_ends_an_entry_of_type_11) {
  const MemoryHandle handle = region();
  make_reserved(handle);
  EXPECT_EQ(table_.end_by_peer(kPd, kQp, handle), AccessCheck::kB);
  EXPECT_FALSE(table_.regions().deregister(handle));
  EXPECT_FALSE(table_.regions().reregister(handle, {.rights = kRemoteRead}));
  EXPECT_EQ(table_.live_count(), 1U);
}

}  // namespace reserved_type_test
}  // namespace splitnic::fabric
