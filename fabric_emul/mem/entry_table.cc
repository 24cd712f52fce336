#include "fabric_emul/mem/entry_table.h"

#include <string>

#include "base/check.h"

namespace splitnic::fabric {

EntryTable::EntryTable(std::size_t entries_max, const KeyPermutation& permutation)
    : permutation_(permutation), entries_max_(entries_max) {
  CHECK(entries_max > 0);
}

base::Result<std::uint32_t> EntryTable::take() {
  if (live_count_ == entries_max_) {
    return base::Error("the table is full (" + std::to_string(entries_max_) + " entries)");
  }
  std::uint32_t index = 0;
  if (!free_indices_.empty()) {
    index = free_indices_.front();
    free_indices_.pop_front();
  } else {
    if (entries_.size() == kTagIndexReserved) return base::Error("all memory keys are used up");
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back().instance = kTagInstanceFirst;
  }
  const std::uint8_t instance = entries_[index].instance;
  entries_[index] = MrwtEntry{};
  entries_[index].instance = instance;
  entries_[index].is_used = true;
  ++live_count_;
  return index;
}

bool EntryTable::has_index_after(std::uint32_t index) const {
  return entries_[index].instance != kTagInstanceLast || !free_indices_.empty() ||
         entries_.size() != kTagIndexReserved;
}

void EntryTable::end(std::uint32_t index) {
  MrwtEntry& entry = entries_[index];
  CHECK(entry.is_used && entry.windows_bound == 0);
  entry.att = nullptr;
  entry.is_used = false;
  entry.is_valid = false;
  --live_count_;
  if (entry.instance == kTagInstanceLast) return;  // retired: its next instance would wrap
  ++entry.instance;
  free_indices_.push_back(index);
}

}  // namespace splitnic::fabric
