// The adapter's own page table: only what MapLocalPage entered. The VMM reports pages that move.
#pragma once

#include <unordered_map>

#include "fabric_emul/vm/page_table.h"

namespace splitnic::fabric {

class PrivatePageTable final : public PageTable {
 public:
  std::optional<PageEntry> find(VirtualPage page) const noexcept override {
    const auto found = entries_.find(page);
    return found != entries_.end() ? std::optional(found->second) : std::nullopt;
  }
  void set(VirtualPage page, const PageEntry& entry) override {
    entries_.insert_or_assign(page, entry);
  }
  void erase(VirtualPage page) override { entries_.erase(page); }
  void clear() { entries_.clear(); }
  std::size_t size() const override { return entries_.size(); }

 private:
  std::unordered_map<VirtualPage, PageEntry> entries_;
};

}  // namespace splitnic::fabric
