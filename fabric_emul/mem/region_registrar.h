// Makes and ends the regions of the memory region and window table, and changes their pages: what
// an owner of memory asks for. A region is one span of memory, pages that lie anywhere, addresses
// that somebody else translates, or a buffer of an iSCSI command.
//
// Invariants: a live region has length > 0, and start + length does not pass 2^64; a region with
// bound windows stays; a translation table lives as long as the last region that uses it.
// Registration allocates. One thread owns it, the one that owns the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/mem/access.h"
#include "fabric_emul/mem/att.h"
#include "fabric_emul/mem/entry_table.h"
#include "fabric_emul/mem/paged_memory.h"
#include "fabric_emul/mem/translator.h"

namespace splitnic::fabric {

// A region that is registered through a send queue: one span, or pinned pages [S002-30].
struct NewRegion {
  base::MutableBytes memory;  // empty: `pages`
  PagedMemory pages;          // the list must stay unchanged until the registration has completed
  std::uint8_t rights = 0;
  std::optional<VirtualAddress> start;
};
// The reasons why a reserved region could not be made [S002-31].
enum class RegisterCheck : std::uint8_t {
  kEntry,     // the key points to no reserved entry
  kInstance,  // the entry belongs to a later key
  kSpace,     // no room in the translation tables
};

// The changes of reregister(); a field that is not set keeps its value.
struct RegionChange {
  std::optional<PdId> pd{};
  std::optional<base::MutableBytes> memory{};  // of regions that are one span; outlives the region
  std::optional<std::uint8_t> rights{};
};

class RegionRegistrar {
 public:
  // The translation tables take at most att_pages_max ATT pages. `random` gives the start
  // addresses. It and `entries` must outlive this.
  RegionRegistrar(EntryTable& entries, base::Random& random, std::size_t att_pages_max)
      : entries_(entries), random_(random), atts_(att_pages_max) {}

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

  // For registrations through a send queue: the handle and the start address are known when they
  // are posted, the entry is there and not valid, and works from the time when make_reserved() has
  // run [S002-30, X-21]. Refused as any registration is, but for space in the tables.
  base::Result<MemoryHandle> reserve_region(PdId pd, const NewRegion& region);
  // Makes the region of a reserved entry of this PD; `region` as it was reserved. If that fails the
  // reservation is given up, and the instance is incremented.
  std::optional<RegisterCheck> make_reserved(PdId pd, MemoryHandle handle, const NewRegion& region);
  // Ends a reserved entry; what is no such entry stays as it is.
  void give_up_reserved(MemoryHandle handle);

  // Registers a region again under another handle: the old one ends with the call. The start stays
  // unless the memory changes. Refused, nothing changed: windows are bound to it, it is quiescable,
  // other memory for a region of pages, unknown rights.
  base::Result<MemoryHandle> reregister(MemoryHandle region, const RegionChange& change);
  // Ends a region; refused while windows are bound to it.
  base::Status deregister(MemoryHandle region);
  // The same by index. REQUIRES: a live region or iSCSI region without windows.
  void end(std::uint32_t index);

  // Moves a page of a region: nullptr takes it out. Refused for pinned regions, and for quiescable
  // ones while the entry is valid.
  base::Status set_page(MemoryHandle region, std::size_t page, std::byte* at);
  // From now on `guard` must permit every remote write to this region and to its windows; it must
  // outlive the region. REQUIRES a live region of this table.
  void set_guard(MemoryHandle region, const WriteGuard& guard);

  // The translation tables that live; a region of one span has none.
  const AttStore& atts() const { return atts_; }

 private:
  base::Result<std::uint32_t> take_region(PdId pd, std::uint64_t length, std::uint8_t rights,
                                          std::optional<VirtualAddress> start,
                                          const std::byte* memory);
  void fill_pages(MrwtEntry& entry, const PagedMemory& memory, AttControl control,
                  PageSource* source);
  VirtualAddress random_start(std::uint64_t length, const std::byte* memory);

  EntryTable& entries_;
  base::Random& random_;
  AttStore atts_;
};

}  // namespace splitnic::fabric
