#include "fabric_emul/vm/inverted_page_table.h"

#include "base/check.h"

namespace splitnic::fabric {
namespace {

std::size_t bucket(VirtualPage page, std::size_t buckets) {
  return static_cast<std::size_t>((page.value * 0x9E3779B97F4A7C15U) >> 20) % buckets;
}

}  // namespace

InvertedPageTable::InvertedPageTable(std::size_t frames) : slots_(frames), anchors_(frames, kEnd) {
  CHECK(frames > 0 && frames < kEnd);
}

std::uint32_t& InvertedPageTable::anchor(VirtualPage page) {
  return anchors_[bucket(page, anchors_.size())];
}

// kEnd: it is in no frame.
std::uint32_t InvertedPageTable::slot_of(VirtualPage page) const noexcept {
  std::uint32_t at = anchors_[bucket(page, anchors_.size())];
  while (at != kEnd && slots_[at].page != page) at = slots_[at].next;
  return at;
}

std::optional<PageEntry> InvertedPageTable::find(VirtualPage page) const noexcept {
  if (const std::uint32_t at = slot_of(page); at != kEnd) {
    const Slot& slot = slots_[at];
    return PageEntry{PhysicalPage(at), true, slot.is_mapped, slot.protection};
  }
  const auto found = out_.find(page);
  return found != out_.end() ? std::optional(found->second) : std::nullopt;
}

void InvertedPageTable::set(VirtualPage page, const PageEntry& entry) {
  erase(page);
  if (!entry.is_valid) {
    out_.emplace(page, entry);
    return;
  }
  CHECK(entry.frame.value < slots_.size() && !slots_[entry.frame.value].is_used);
  std::uint32_t& first = anchor(page);
  slots_[entry.frame.value] = {page, first, true, entry.is_mapped, entry.protection};
  first = entry.frame.value;
  ++in_;
}

void InvertedPageTable::erase(VirtualPage page) {
  out_.erase(page);
  const std::uint32_t gone = slot_of(page);
  if (gone == kEnd) return;
  std::uint32_t* link = &anchor(page);
  while (*link != gone) link = &slots_[*link].next;
  *link = slots_[gone].next;
  slots_[gone] = Slot{};
  --in_;
}

std::optional<VirtualPage> InvertedPageTable::page_in(PhysicalPage frame) const noexcept {
  if (frame.value >= slots_.size() || !slots_[frame.value].is_used) return std::nullopt;
  return slots_[frame.value].page;
}

}  // namespace splitnic::fabric
