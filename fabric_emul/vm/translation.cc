#include "fabric_emul/vm/translation.h"

namespace splitnic::fabric {

Translation translate(const PageTable& pages, VirtualAddress address,
                      std::uint8_t protection) noexcept {
  const std::optional<PageEntry> entry = pages.find(page_of(address));
  if (!entry || !entry->is_mapped) return {TranslationFault::kUnmapped, address, {}};
  if ((entry->protection & protection) != protection) {
    return {TranslationFault::kProtection, address, {}};
  }
  if (!entry->is_valid) return {TranslationFault::kOut, address, {}};
  return {TranslationFault::kNone, address,
          address_in(entry->frame, offset_in_page(address.value))};
}

Translation translate(const SegmentTable& segments, const PageTable& pages,
                      EffectiveAddress address, std::uint8_t protection) noexcept {
  if (segments.find(segment_of(address)) == nullptr) return {TranslationFault::kNoSegment, {}, {}};
  const std::optional<VirtualAddress> at = segments.to_virtual(address);
  if (!at) return {TranslationFault::kPastEnd, {}, {}};
  return translate(pages, *at, protection);
}

}  // namespace splitnic::fabric
