// The entries of the memory region and window table, by Tag_Index, and the handles that name them:
// which index lives, which one is free, and to which life of it a handle belongs. RegionRegistrar,
// WindowBinder and OneTouch write what an entry allows, and Mrwt checks it. Mrwt owns them all, and
// everybody else gets entries to read only.
//
// Invariants: each end of an entry increments its Tag_Instance; indices are reused oldest first; an
// index whose instance would wrap is retired, so no handle is ever given twice. One thread owns it.
// take() allocates; nothing else does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/status.h"
#include "fabric_emul/mem/key.h"
#include "fabric_emul/mem/mrwt_entry.h"

namespace splitnic::fabric {

class EntryTable {
 public:
  // At most entries_max entries live at one time. REQUIRES: entries_max > 0.
  EntryTable(std::size_t entries_max, const KeyPermutation& permutation);

  Key key_of(MemoryHandle handle) const noexcept { return permutation_.to_key(handle); }
  // The handle that the entry has now. REQUIRES: index < index_count().
  MemoryHandle handle_of(std::uint32_t index) const noexcept {
    return permutation_.to_handle({index, entries_[index].instance});
  }
  // The index of the live entry that the handle names; nullopt if there is none.
  std::optional<std::uint32_t> find(MemoryHandle handle) const noexcept {
    const Key key = key_of(handle);
    if (key.index >= entries_.size()) return std::nullopt;
    const MrwtEntry& entry = entries_[key.index];
    if (!entry.is_used || entry.instance != key.instance) return std::nullopt;
    return key.index;
  }

  // Live or not. The reference holds until the next take(). REQUIRES: index < index_count().
  MrwtEntry& operator[](std::uint32_t index) noexcept { return entries_[index]; }
  const MrwtEntry& operator[](std::uint32_t index) const noexcept { return entries_[index]; }

  // Returns the index of an entry that lives from now on, cleared but for its instance: a free one,
  // oldest first, else one never used. Refused: entries_max entries live, or no index is left.
  base::Result<std::uint32_t> take();
  // Returns whether an index is left for take() once this live entry has ended.
  bool has_index_after(std::uint32_t index) const;
  // Ends an entry: from here on its handle fails check a, and check d once the index lives again.
  // The caller has released its region and its translation table before.
  // REQUIRES: it lives, and no windows are bound to it.
  void end(std::uint32_t index);

  std::size_t live_count() const { return live_count_; }
  std::size_t entries_max() const { return entries_max_; }
  // How many indices were ever used, retired ones included.
  std::size_t index_count() const { return entries_.size(); }

 private:
  std::vector<MrwtEntry> entries_;  // by Tag_Index
  KeyPermutation permutation_;
  std::size_t entries_max_;
  std::size_t live_count_ = 0;
  std::deque<std::uint32_t> free_indices_;  // oldest first
};

}  // namespace splitnic::fabric
