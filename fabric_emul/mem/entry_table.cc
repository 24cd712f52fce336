#include "fabric_emul/mem/entry_table.h"

#include <string>

#include "base/check.h"

namespace splitnic::fabric {

EntryTable::EntryTable(std::size_t entries_max, const KeyPermutation& permutation,
                       std::size_t indices_max)
    : permutation_(permutation), entries_max_(entries_max), indices_max_(indices_max) {
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
    const auto fresh = fresh_index();
    if (!fresh) return base::Error("all memory keys are used up");
    index = *fresh;
    (*this)[index].instance = kTagInstanceFirst;
  }
  MrwtEntry& entry = (*this)[index];
  const std::uint8_t instance = entry.instance;
  entry = MrwtEntry{};
  entry.instance = instance;
  entry.is_used = true;
  ++live_count_;
  return index;
}

// Makes its page, if it is the first of one.
std::optional<std::uint32_t> EntryTable::fresh_index() {
  if (again_next_ != again_end_) return again_next_++;
  std::size_t number = index_count_ / kPageEntries;
  if (index_count_ < indices_max_) {
    if (index_count_ % kPageEntries != 0) return static_cast<std::uint32_t>(index_count_++);
    pages_.emplace_back();
  } else {
    if (freed_pages_.empty()) return std::nullopt;
    number = freed_pages_.front();
    freed_pages_.pop_front();
  }
  pages_[number] = std::make_unique<Page>();
  ++pages_kept_;
  const auto first = static_cast<std::uint32_t>(number * kPageEntries);
  if (first == index_count_) return static_cast<std::uint32_t>(index_count_++);
  again_next_ = first + 1;
  again_end_ = first + kPageEntries;
  return first;
}

// The last page lacks one index, the reserved one, and stays.
void EntryTable::retire(std::uint32_t index) {
  const std::size_t number = index / kPageEntries;
  Page& page = *pages_[number];
  if (++page.retired < kPageEntries) return;
  pages_[number].reset();
  --pages_kept_;
  freed_pages_.push_back(static_cast<std::uint32_t>(number));
}

bool EntryTable::has_index_after(std::uint32_t index) const {
  return (*this)[index].instance != kTagInstanceLast || !free_indices_.empty() ||
         index_count_ < indices_max_ || again_next_ != again_end_ || !freed_pages_.empty();
}

void EntryTable::end(std::uint32_t index) {
  MrwtEntry& entry = (*this)[index];
  CHECK(entry.is_used && entry.windows_bound == 0);
  entry.att = nullptr;
  entry.is_used = false;
  entry.is_valid = false;
  --live_count_;
  if (entry.instance == kTagInstanceLast) return retire(index);  // its next one would wrap
  ++entry.instance;
  free_indices_.push_back(index);
}

}  // namespace splitnic::fabric
