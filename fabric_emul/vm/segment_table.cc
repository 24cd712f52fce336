#include "fabric_emul/vm/segment_table.h"

#include <algorithm>
#include <limits>

namespace splitnic::fabric {

const SegmentEntry* SegmentTable::find(SegmentPointer segment) const noexcept {
  const auto found = entries_.find(segment);
  return found != entries_.end() && found->second.is_valid ? &found->second : nullptr;
}

std::optional<VirtualAddress> SegmentTable::to_virtual(EffectiveAddress address) const noexcept {
  const SegmentEntry* const entry = find(segment_of(address));
  if (entry == nullptr || page_number(address.value) >= entry->pages) return std::nullopt;
  return address_in(page_of(entry->upper, page_number(address.value)),
                    offset_in_page(address.value));
}

bool SegmentTable::allows(EffectiveAddress address, std::uint64_t length,
                          std::uint8_t protection) const {
  if (length == 0 || length > std::numeric_limits<std::uint64_t>::max() - address.value) {
    return false;
  }
  for (std::uint64_t at = address.value, left = length; left > 0;) {
    const SegmentEntry* const entry = find(segment_of(EffectiveAddress(at)));
    if (entry == nullptr || (entry->protection & protection) != protection) return false;
    const std::uint64_t offset = offset_in_segment(at);
    const std::uint64_t here = std::min(left, kSegmentBytesMax - offset);
    const std::uint64_t bytes = entry->pages << kOffsetBits;
    if (offset >= bytes || here > bytes - offset) return false;
    at += here;
    left -= here;
  }
  return true;
}

}  // namespace splitnic::fabric
