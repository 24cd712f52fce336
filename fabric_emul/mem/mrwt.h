// The memory region and window table: what an adapter may touch on behalf of work requests and
// cells. It knows no cells; it takes a handle, an address, a length, a kind of access, a PD and a
// QP. Here are the checks of the data path and what regions and windows have in common; regions()
// makes regions, windows() binds windows, one_touch() ends windows with their first use.
//
// One thread owns it. Registration allocates; access() does not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/mem/access.h"
#include "fabric_emul/mem/entry_table.h"
#include "fabric_emul/mem/one_touch.h"
#include "fabric_emul/mem/region_registrar.h"
#include "fabric_emul/mem/window_binder.h"

namespace splitnic::fabric {

class Mrwt {
 public:
  // At most entries_max regions and windows live at one time, and their translation tables take at
  // most att_pages_max ATT pages. `random` gives the key of the handle permutation and the start
  // addresses; it must outlive the table. identity_keys: tests only.
  Mrwt(std::size_t entries_max, base::Random& random, bool identity_keys = false,
       MrwtProfile profile = MrwtProfile::kRegionsOk, std::size_t att_pages_max = kAttPagesDefault);
  Mrwt(const Mrwt&) = delete;
  Mrwt& operator=(const Mrwt&) = delete;

  RegionRegistrar& regions() { return regions_; }
  WindowBinder& windows() { return windows_; }
  OneTouch& one_touch() { return one_touch_; }

  // The data-path call: where `address` lies if all of [address, address + length) may be accessed
  // so, else the letter of the first check that fails, in the order a to f [S002-12 to S002-17,
  // S001-40]. Touches no memory of the region, but brings in the page of `address` if it is out;
  // letter a if that fails. `qp` matters for remote access through a bound window only.
  AccessResult access(MemoryHandle handle, VirtualAddress address, std::uint64_t length,
                      AccessKind kind, PdId pd, Qpn qp) const noexcept;

  // The same for an R2T or a Data-In to an iSCSI region, in the order a to g.
  AccessResult access_iscsi(MemoryHandle handle, std::uint64_t offset, std::uint64_t length,
                            IscsiTransfer transfer, PdId pd) const noexcept;

  // The live entry of a handle, nullptr if there is none. It holds until the table is changed.
  const MrwtEntry* entry(MemoryHandle handle) const;

  // REQUIRES: a live handle of this table.
  VirtualAddress start_of(MemoryHandle handle) const;
  std::uint64_t length_of(MemoryHandle handle) const;

  // Clears or sets the valid bit of a live entry; the handle stays the same. Clearing it on a
  // region stops its windows too [S004-08].
  base::Status set_valid(MemoryHandle handle, bool is_valid);
  // Executes a peer's Send with deregister: ends a window or region of this PD that lets the peer
  // do something, for queue pair `qp`; the letter if it may not (b: regions serve no peer in this
  // profile; g: windows are bound to it) [S002-35].
  std::optional<AccessCheck> end_by_peer(PdId pd, Qpn qp, MemoryHandle handle);
  // Ends all windows, then all regions of the PD. Returns how many entries ended.
  std::size_t release_domain(PdId pd);

  std::size_t live_count() const { return entries_.live_count(); }
  std::size_t entries_max() const { return entries_.entries_max(); }
  // Returns the number of indices that were ever used, retired ones included.
  std::size_t index_count() const { return entries_.index_count(); }
  MrwtProfile profile() const { return profile_; }

 private:
  AccessResult locate(const MrwtEntry& entry, std::uint64_t offset, std::uint64_t length,
                      AccessKind kind) const noexcept;
  Key cached_key_of(MemoryHandle handle, AccessKind kind) const noexcept;
  void end(std::uint32_t index);

  EntryTable entries_;
  struct Known {
    MemoryHandle handle;
    Key key;
  };
  mutable std::array<Known, 2> last_{};  // of local and of remote accesses: which key it was
  MrwtProfile profile_;
  OneTouch one_touch_;
  WindowBinder windows_;
  RegionRegistrar regions_;
};

}  // namespace splitnic::fabric
