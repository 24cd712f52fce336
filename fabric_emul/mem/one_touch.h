// Windows that end with the first RDMA packet that uses them: the first accepted cell takes the
// window for its packet, whose other cells and repetitions still pass; every other packet is
// refused at once [S002-22, S000-25, X-18]. The remote side is not notified. Queue pairs call this
// around each access; it checks nothing of what Mrwt::access() checks.
//
// Allocates nothing. One thread owns it, the one that owns the table.
#pragma once

#include <cstddef>

#include "fabric_emul/mem/entry_table.h"

namespace splitnic::fabric {

class OneTouch {
 public:
  // `entries` must outlive this.
  explicit OneTouch(EntryTable& entries) : entries_(entries) {}

  // From now on the window has one touch only. REQUIRES a live window.
  void enable(MemoryHandle window);
  // WindowBinder's call before a window ends or is cleared.
  void on_end(const MrwtEntry& window) noexcept;

  // A packet of a queue pair begins to use an entry that passed its checks. False: it has one touch
  // only, and another packet had it.
  bool touch(MemoryHandle handle, Qpn qp, Psn psn) noexcept {
    return enabled_count_ == 0 || touch_entry(handle, qp, psn);
  }
  // The same packet continues. False: the entry has one touch only, and this packet has not touched
  // it; it was bound again since the packet began.
  bool may_continue(MemoryHandle handle, Qpn qp, Psn psn) const noexcept {
    return enabled_count_ == 0 || may_entry_go_on(handle, qp, psn);
  }
  // That packet is done with it: an entry with one touch is not valid any more.
  void spend(MemoryHandle handle, Qpn qp, Psn psn) noexcept {
    if (enabled_count_ != 0) spend_entry(handle, qp, psn);
  }

  // The same for STREAM, where table D decides (docs/protocol/stream.md). The last cell of the
  // first packet came early; `last` is the number of its last byte [S002-26].
  void touch_early(MemoryHandle handle, Qpn qp, Psn psn, StreamNumber last) noexcept;
  // The stream has caught up to that byte: the entry that stored it is not valid any more.
  void line_up(MemoryHandle handle, Qpn qp, StreamNumber last) noexcept;
  // That packet came in order, or another one came after it [S002-24, S002-25].
  void end_touch(MemoryHandle handle) noexcept;

 private:
  // The same where an entry has one touch.
  bool touch_entry(MemoryHandle handle, Qpn qp, Psn psn) noexcept;
  bool may_entry_go_on(MemoryHandle handle, Qpn qp, Psn psn) const noexcept;
  void spend_entry(MemoryHandle handle, Qpn qp, Psn psn) noexcept;

  EntryTable& entries_;
  std::size_t enabled_count_ = 0;  // most adapters have none: the path then asks nothing more
};

}  // namespace splitnic::fabric
