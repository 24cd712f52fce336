// The entries of the memory region and window table, by Tag_Index, and the handles that name them:
// which index lives, which one is free, and to which life of it a handle belongs. RegionRegistrar,
// WindowBinder and OneTouch write what an entry allows, and Mrwt checks it. Mrwt owns them all, and
// everybody else gets entries to read only.
//
// Invariants: each end of an entry increments its Tag_Instance; indices are reused oldest first; an
// index whose instance would wrap is retired. Entries lie in pages, and a page whose indices are
// all retired is freed, so memory follows what lives, however long the table is used [L-4]. A
// handle comes back only when all others were given: then the page that was retired first begins
// again, 2^32 registrations later. One thread owns it. take() allocates; nothing else does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "fabric_emul/mem/key.h"
#include "fabric_emul/mem/mrwt_entry.h"

namespace splitnic::fabric {

class EntryTable {
 public:
  // At most entries_max entries live at one time. REQUIRES: entries_max > 0. indices_max: tests
  // only.
  EntryTable(std::size_t entries_max, const KeyPermutation& permutation,
             std::size_t indices_max = kTagIndexReserved);

  Key key_of(MemoryHandle handle) const noexcept { return permutation_.to_key(handle); }
  // The handle that the entry has now. REQUIRES: it lives.
  MemoryHandle handle_of(std::uint32_t index) const noexcept {
    return permutation_.to_handle({index, (*this)[index].instance});
  }
  // The index of the live entry that the handle names; nullopt if there is none.
  std::optional<std::uint32_t> find(MemoryHandle handle) const noexcept {
    const Key key = key_of(handle);
    if (key.index >= index_count_) return std::nullopt;
    const MrwtEntry& entry = (*this)[key.index];
    if (!entry.is_used || entry.instance != key.instance) return std::nullopt;
    return key.index;
  }

  // Live or not; write to a live one only. The reference holds until the entry ends. REQUIRES:
  // index < index_count().
  MrwtEntry& operator[](std::uint32_t index) noexcept {
    Page* const page = pages_[index / kPageEntries].get();
    return page == nullptr ? freed_ : page->entries[index % kPageEntries];
  }
  const MrwtEntry& operator[](std::uint32_t index) const noexcept {
    const Page* const page = pages_[index / kPageEntries].get();
    return page == nullptr ? freed_ : page->entries[index % kPageEntries];
  }
  // Calls visitor(index) for each live entry; the visitor may end it, and no other.
  template <class Visitor>
  void visit(Visitor&& visitor) {
    for (std::size_t number = 0; number < pages_.size(); ++number) {
      for (std::size_t i = 0; i < kPageEntries && pages_[number] != nullptr; ++i) {
        if (pages_[number]->entries[i].is_used) {
          visitor(static_cast<std::uint32_t>(number * kPageEntries + i));
        }
      }
    }
  }

  // Returns the index of an entry that lives from now on, cleared but for its instance: a free one,
  // oldest first, else one never used, else a retired one. Refused: entries_max entries live, or no
  // index is left.
  base::Result<std::uint32_t> take();
  // Returns whether an index is left for take() once this live entry has ended.
  bool has_index_after(std::uint32_t index) const;
  // Ends an entry: from here on its handle fails check a, and check d once the index lives again.
  // The caller has released its region and its translation table before.
  // REQUIRES: it lives, and no windows are bound to it.
  void end(std::uint32_t index);

  std::size_t live_count() const { return live_count_; }
  std::size_t entries_max() const { return entries_max_; }
  // Returns the number of indices that were ever used, retired ones included.
  std::size_t index_count() const { return index_count_; }
  // Of how many there is memory.
  std::size_t entries_kept() const { return pages_kept_ * kPageEntries; }

 private:
  static constexpr std::size_t kPageEntries = 256;
  struct Page {
    std::array<MrwtEntry, kPageEntries> entries;
    std::size_t retired = 0;
  };
  std::optional<std::uint32_t> fresh_index();
  void retire(std::uint32_t index);

  std::vector<std::unique_ptr<Page>> pages_;  // by Tag_Index / kPageEntries; null: freed
  std::size_t pages_kept_ = 0;
  std::size_t index_count_ = 0;
  std::deque<std::uint32_t> freed_pages_;  // oldest first
  // Indices of a page that begins again, which were not used since.
  std::uint32_t again_next_ = 0, again_end_ = 0;
  MrwtEntry freed_;  // as those of a freed page are: not in use
  KeyPermutation permutation_;
  std::size_t entries_max_;
  std::size_t indices_max_;
  std::size_t live_count_ = 0;
  std::deque<std::uint32_t> free_indices_;  // oldest first
};

}  // namespace splitnic::fabric
