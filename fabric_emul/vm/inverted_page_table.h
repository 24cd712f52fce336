// The page table of the VMM, in inverted form: one slot per frame, with the virtual page in
// it. A page is found over the chain of its hash; pages that are out are kept separately.
#pragma once

#include <unordered_map>
#include <vector>

#include "fabric_emul/vm/page_table.h"

namespace splitnic::fabric {

class InvertedPageTable final : public PageTable {
 public:
  // REQUIRES frames > 0.
  explicit InvertedPageTable(std::size_t frames);

  std::optional<PageEntry> find(VirtualPage page) const noexcept override;
  // REQUIRES, for a valid entry: such a frame, with no other page in it.
  void set(VirtualPage page, const PageEntry& entry) override;
  void erase(VirtualPage page) override;
  std::size_t size() const override { return in_ + out_.size(); }

  // Returns the page that is in a frame: what this form is for. nullopt: none, or no such frame.
  std::optional<VirtualPage> page_in(PhysicalPage frame) const noexcept;

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  struct Slot {
    VirtualPage page;
    std::uint32_t next = kEnd;  // in the chain
    bool is_used = false;
    bool is_mapped = false;
    std::uint8_t protection = 0;
  };
  std::uint32_t& anchor(VirtualPage page);
  std::uint32_t slot_of(VirtualPage page) const noexcept;

  std::vector<Slot> slots_;             // by frame
  std::vector<std::uint32_t> anchors_;  // by hash: the first slot of the chain
  std::unordered_map<VirtualPage, PageEntry> out_;
  std::size_t in_ = 0;
};

}  // namespace splitnic::fabric
