// The memory region and window table: what an adapter may touch on behalf of work requests and
// cells. It knows no cells; it takes a handle, an address, a length, a kind of access, a PD and a
// QP.
//
// Invariants: a live entry has length > 0 and start + length does not pass 2^64; a window lies
// within its region and has its PD; a region with bound windows stays. Each end of an entry
// increments its Tag_Instance; indices are reused oldest first; an index whose instance would wrap
// is retired, so no handle is ever given twice. One thread owns it. Registration allocates;
// access() does not. A region is one span of memory, or made of pages that lie anywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/mem/access.h"
#include "fabric_emul/mem/att.h"
#include "fabric_emul/mem/key.h"
#include "fabric_emul/mem/mrwt_entry.h"

namespace splitnic::fabric {

// kRegionsOk: a region with a remote right serves remote access, as a window does.
//        kStrictWindows: remote access goes through windows only.
// A window never serves local access in either.
enum class MrwtProfile : std::uint8_t { kRegionsOk, kStrictWindows };

// A region made of pages of one size [S002-08, S002-09].
struct PagedMemory {
  std::span<std::byte* const> pages;  // where each lies, in the order of the region
  std::uint8_t page_log2 = kPageLog2Min;
  std::uint64_t first_offset = 0;  // of the first byte within the first page
  std::uint64_t length = 0;
};
struct PagedOptions {
  std::optional<VirtualAddress> start;
  std::optional<AttControl> control;  // else the first indirect form that holds the pages
  // At most one of these; without any the region is pinned [X-23, S004-09].
  PageSource* source = nullptr;                      // on-demand: it brings pages in
  std::atomic<std::uint32_t>* current_io = nullptr;  // quiescable: the consumer's word
};

// A region that is registered through a send queue: one span, or pinned pages [S002-30].
struct NewRegion {
  base::MutableBytes memory;  // empty: `pages`
  PagedMemory pages;          // the list must stay unchanged until the registration has completed
  std::uint8_t rights = 0;
  std::optional<VirtualAddress> start;
};
// Why a reserved region could not be made [S002-31].
enum class RegisterCheck : std::uint8_t {
  kEntry,     // the key points to no reserved entry
  kInstance,  // the entry belongs to a later key
  kSpace,     // no room in the translation tables
};

inline constexpr std::size_t kAttPagesDefault = 1U << 18;  // 1 GiB of ATT pages

// The changes of reregister(); a field that is not set keeps its value.
struct RegionChange {
  std::optional<PdId> pd{};
  std::optional<base::MutableBytes> memory{};  // of regions that are one span; outlives the region
  std::optional<std::uint8_t> rights{};
};

class Mrwt {
 public:
  // At most entries_max regions and windows live at one time, and their translation tables take at
  // most att_pages_max ATT pages. `random` gives the key of the handle permutation and the start
  // addresses; it must outlive the table. identity_keys: tests only.
  Mrwt(std::size_t entries_max, base::Random& random, bool identity_keys = false,
       MrwtProfile profile = MrwtProfile::kRegionsOk, std::size_t att_pages_max = kAttPagesDefault);

  // `memory` must outlive the region and not be empty [S002-02]. `rights` are AccessRight bits.
  // Without `start` the region begins at a random address, a multiple of 64 with the whole region
  // below 2^56, never the process address: the address on the wire reveals nothing of this process
  // [S000-29].
  base::Result<MemoryHandle> register_region(PdId pd, base::MutableBytes memory,
                                             std::uint8_t rights,
                                             std::optional<VirtualAddress> start = {});

  // A region made of pages. All but the first and the last are used whole, pages are aligned to
  // 4 KiB and outlive the region; nullptr = out, with a source only. kDirect needs consecutive
  // pages that stay: no source and no current-I/O word.
  base::Result<MemoryHandle> register_pages(PdId pd, const PagedMemory& memory, std::uint8_t rights,
                                            const PagedOptions& options = {});
  // For registrations through a send queue: the handle and the start address are known when they
  // are posted, the entry is there and not valid, and works from the time when make_reserved() has
  // run [S002-30, X-21]. Refused as any registration is, but for space in the tables.
  base::Result<MemoryHandle> reserve_region(PdId pd, const NewRegion& region);
  // Makes the region of a reserved entry of this PD; `region` as it was reserved. If that fails the
  // reservation is given up, and the instance is incremented.
  std::optional<RegisterCheck> make_reserved(PdId pd, MemoryHandle handle, const NewRegion& region);
  // Ends a reserved entry; what is no such entry stays as it is.
  void give_up_reserved(MemoryHandle handle);

  // A further region over the memory of a live one, for another process: its own entry, the same
  // translation table [S002-10]. Not of quiescable regions: one consumer's word speaks for one.
  base::Result<MemoryHandle> register_shared(PdId pd, MemoryHandle other, std::uint8_t rights,
                                             std::optional<VirtualAddress> start = {});
  // A region of addresses that `space` translates, one by one: it may have holes. `space` outlives
  // it. Such a region is on-demand: its pages may be out.
  base::Result<MemoryHandle> register_space(PdId pd, VirtualAddress start, std::uint64_t length,
                                            std::uint8_t rights, Translator& space);
  // An iSCSI region: addressed by offset, for R2T and Data-In of one command. `control` are
  // IscsiControl bits, `rights` remote rights [S002-05].
  base::Result<MemoryHandle> register_iscsi(PdId pd, base::MutableBytes memory, std::uint8_t rights,
                                            std::uint8_t control);

  // A window on [address, address + length) of the region, length > 0, addressed as in the region.
  // `rights` without kWindowBind. bound_qp 0 = any QP of the PD [S002-02, S002-11].
  base::Result<MemoryHandle> bind_window(PdId pd, MemoryHandle region, VirtualAddress address,
                                         std::uint64_t length, std::uint8_t rights, Qpn bound_qp);
  // The window that `window` names ends with the first RDMA packet that uses it: the first accepted
  // cell takes it for its packet, whose other cells and repetitions still pass; every other packet
  // is refused at once [S002-22, S000-25, X-18]. The remote side is not notified. REQUIRES a live
  // window.
  void make_one_touch(MemoryHandle window);
  // A packet of a queue pair begins to use an entry that passed its checks. False: it has one touch
  // only, and another packet had it.
  bool touch(MemoryHandle handle, Qpn qp, Psn psn) noexcept;
  // The same packet continues. False: the entry has one touch only, and this packet has not touched
  // it; it was bound again since the packet began.
  bool may_go_on(MemoryHandle handle, Qpn qp, Psn psn) const noexcept;
  // That packet is done with it: an entry with one touch is not valid any more.
  void spend(MemoryHandle handle, Qpn qp, Psn psn) noexcept;
  // The same for STREAM, where table D decides (docs/wire/stream.md). The last cell of the first
  // packet came early; `last` is the number of its last byte [S002-26].
  void touch_early(MemoryHandle handle, Qpn qp, Psn psn, StreamNumber last) noexcept;
  // The stream has caught up to that byte: the entry that stored it is not valid any more.
  void line_up(MemoryHandle handle, Qpn qp, StreamNumber last) noexcept;
  // That packet came in order, or another one came after it [S002-24, S002-25].
  void end_touch(MemoryHandle handle) noexcept;
  // The letter that refuses such a bind, checked in the order a to g [S002-18]; nullopt = none.
  std::optional<AccessCheck> check_bind(PdId pd, MemoryHandle region, VirtualAddress address,
                                        std::uint64_t length) const noexcept;

  // Moves a page of a region: nullptr takes it out. Refused for pinned regions, and for quiescable
  // ones while the entry is valid.
  base::Status set_page(MemoryHandle region, std::size_t page, std::byte* at);

  // For bind and unbind work requests: the handle is known when they are posted and works from the
  // time when the bind has run [S000-06]. The entry counts as live; unbind() gives it up too.
  base::Result<MemoryHandle> reserve_window(PdId pd);
  // Fills a reserved window of this PD, or changes nothing and returns the letter of the check that
  // refuses it (a: `window` is not a reserved one; f: unknown rights).
  std::optional<AccessCheck> bind_reserved(PdId pd, MemoryHandle window, MemoryHandle region,
                                           VirtualAddress address, std::uint64_t length,
                                           std::uint8_t rights, Qpn bound_qp);
  // Ends a window of this PD; the letter if it is none.
  std::optional<AccessCheck> unbind_of(PdId pd, MemoryHandle window);
  // Makes a bound window of this PD a reserved one again, under the same handle; the letter if it
  // is none [S000-22].
  std::optional<AccessCheck> clear_window(PdId pd, MemoryHandle window);
  // Executes a peer's Send with deregister: ends a window or region of this PD that lets the peer
  // do something, for queue pair `qp`; the letter if it may not (b: regions serve no peer in this
  // profile; g: windows are bound to it) [S002-35].
  std::optional<AccessCheck> end_by_peer(PdId pd, Qpn qp, MemoryHandle handle);

  // Registers a region again under another handle: the old one ends with the call. The start stays
  // unless the memory changes. Refused, nothing changed: windows are bound to it, it is quiescable,
  // other memory for a region of pages, unknown rights.
  base::Result<MemoryHandle> reregister(MemoryHandle region, const RegionChange& change);
  // Ends a region; refused while windows are bound to it.
  base::Status deregister(MemoryHandle region);
  base::Status unbind(MemoryHandle window);
  // Ends all windows, then all regions of the PD. Returns how many entries ended.
  std::size_t release_domain(PdId pd);

  // Clears or sets the valid bit of a live entry; the handle stays the same. Clearing it on a
  // region stops its windows too [S004-08].
  base::Status set_valid(MemoryHandle handle, bool is_valid);

  // From now on `guard` has a say in every remote write to this region and to its windows; it must
  // outlive the region. REQUIRES a live region of this table.
  void set_guard(MemoryHandle region, const WriteGuard& guard);

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

  std::size_t live_count() const { return live_count_; }
  std::size_t entries_max() const { return entries_max_; }
  // How many indices were ever used, retired ones included.
  std::size_t index_count() const { return entries_.size(); }
  MrwtProfile profile() const { return profile_; }
  // Translation tables that live; a region of one span has none.
  std::size_t att_count() const { return atts_.count(); }
  std::size_t att_pages_used() const { return atts_.pages_used(); }

 private:
  base::Result<std::uint32_t> take_index();
  base::Result<std::uint32_t> take_region(PdId pd, std::uint64_t length, std::uint8_t rights,
                                          std::optional<VirtualAddress> start,
                                          const std::byte* memory);
  AccessResult locate(const MrwtEntry& entry, std::uint64_t offset, std::uint64_t length,
                      AccessKind kind) const noexcept;
  void fill_window(std::uint32_t index, MemoryHandle region, VirtualAddress address,
                   std::uint64_t length, std::uint8_t rights, Qpn bound_qp);
  void fill_pages(MrwtEntry& entry, const PagedMemory& memory, AttControl control,
                  PageSource* source);
  void end_window(std::uint32_t index);
  void end_entry(std::uint32_t index);
  std::optional<std::uint32_t> find(MemoryHandle handle) const;
  Key key_of(MemoryHandle handle, AccessKind kind) const noexcept;
  VirtualAddress random_start(std::uint64_t length, const std::byte* memory);

  std::vector<MrwtEntry> entries_;  // by Tag_Index
  AttStore atts_;
  std::deque<std::uint32_t> free_indices_;  // oldest first
  std::size_t entries_max_;
  std::size_t live_count_ = 0;
  std::size_t one_touch_live_ = 0;  // most adapters have none: the path then asks nothing more
  base::Random& random_;
  KeyPermutation permutation_;
  struct Known {
    MemoryHandle handle;
    Key key;
  };
  mutable std::array<Known, 2> last_{};  // of local and of remote accesses: which key it was
  MrwtProfile profile_;
};

}  // namespace splitnic::fabric
