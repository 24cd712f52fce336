#include "fabric_emul/paging/on_demand.h"

#include <cstring>

namespace splitnic::fabric {

std::byte* OnDemandPages::bring_in(std::size_t page) noexcept {
  std::byte* const frame = arena_.take();
  if (frame == nullptr) {
    ++without_frame_;
    return nullptr;
  }
  std::vector<std::byte>& saved = saved_[page];
  if (!saved.empty()) std::memcpy(frame, saved.data(), saved.size());
  saved = {};
  ++brought_in_;
  return frame;
}

base::Status OnDemandPages::take_out(Mrwt& table, MemoryHandle region, std::size_t page) {
  const MrwtEntry* const entry = table.entry(region);
  if (entry == nullptr || entry->att == nullptr || entry->att->source() != this) {
    return base::Error("taking a page out: the region does not get its pages here");
  }
  if (page >= saved_.size() || page >= entry->att->page_count()) {
    return base::Error("taking a page out: the region has no such page");
  }
  std::byte* const frame = entry->att->page(page);
  if (!arena_.is_taken(frame)) return base::Error("taking a page out: it is not in the arena");
  saved_[page].assign(frame, frame + arena_.frame_bytes());
  const base::Status taken_out = table.regions().set_page(region, page, nullptr);
  if (!taken_out) return taken_out.error().within("taking a page out");
  arena_.release(frame);
  return {};
}

}  // namespace splitnic::fabric
