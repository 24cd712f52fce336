// Binds and ends memory windows: the part of a region that a peer may use, under another handle
// [S002-02, S002-11].
//
// Invariants: a bound window lies within its region and has its PD; the region counts it until it
// ends. A window that is reserved or cleared has length 0, is not valid and belongs to no region.
// One thread owns it, the one that owns the table.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "fabric_emul/mem/access.h"
#include "fabric_emul/mem/entry_table.h"
#include "fabric_emul/mem/one_touch.h"

namespace splitnic::fabric {

class WindowBinder {
 public:
  // Both must outlive this.
  WindowBinder(EntryTable& entries, OneTouch& one_touch)
      : entries_(entries), one_touch_(one_touch) {}

  // The letter that refuses such a bind, checked in the order a to g [S002-18]; nullopt = none.
  std::optional<AccessCheck> check_bind(PdId pd, MemoryHandle region, VirtualAddress address,
                                        std::uint64_t length) const noexcept;
  // A window on [address, address + length) of the region, length > 0, addressed as in the region.
  // `rights` without kWindowBind. bound_qp 0 = any QP of the PD [S002-02, S002-11].
  base::Result<MemoryHandle> bind_window(PdId pd, MemoryHandle region, VirtualAddress address,
                                         std::uint64_t length, std::uint8_t rights, Qpn bound_qp);

  // For bind and unbind work requests: the handle is known when they are posted and works from the
  // time when the bind has run [S000-06]. The entry counts as live; unbind() gives it up too.
  base::Result<MemoryHandle> reserve_window(PdId pd);
  // Associates a reserved or bound window of this PD with the range, in place of the range that it
  // had, or changes nothing and returns the letter of the check that refuses it (a: `window` is
  // none; f: unknown rights, or the owner of the address space may not give them).
  std::optional<AccessCheck> bind_reserved(PdId pd, MemoryHandle window, MemoryHandle region,
                                           VirtualAddress address, std::uint64_t length,
                                           std::uint8_t rights, Qpn bound_qp);
  // Makes a bound window of this PD a reserved one again, under the same handle; the letter if it
  // is no window [S000-22].
  std::optional<AccessCheck> clear_window(PdId pd, MemoryHandle window);

  // The same for an unbind work request, which refuses a window without a range too (e) [S000-06].
  std::optional<AccessCheck> disassociate(PdId pd, MemoryHandle window);

  base::Status unbind(MemoryHandle window);
  // Ends a window of this PD; the letter if it is none.
  std::optional<AccessCheck> unbind_of(PdId pd, MemoryHandle window);
  // Ends a window by index. REQUIRES: a live window, bound or reserved.
  void end(std::uint32_t index);

 private:
  void fill_window(std::uint32_t index, MemoryHandle region, VirtualAddress address,
                   std::uint64_t length, std::uint8_t rights, Qpn bound_qp);
  void leave_region(const MrwtEntry& window);

  EntryTable& entries_;
  OneTouch& one_touch_;
};

}  // namespace splitnic::fabric
