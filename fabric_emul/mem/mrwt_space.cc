// The table's calls for address spaces, and for windows that are bound again under their handle.
#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {

base::Result<MemoryHandle> Mrwt::register_space(PdId pd, VirtualAddress start, std::uint64_t length,
                                                std::uint8_t rights, Translator& space) {
  const auto index = take_region(pd, length, rights, start, nullptr);
  if (!index) return index.error();
  MrwtEntry& entry = entries_[*index];
  entry.space = &space;
  entry.page_log2 = kPageLog2Min;
  entry.attribute = RegionAttribute::kOnDemand;
  return permutation_.to_handle({*index, entry.instance});
}

std::optional<AccessCheck> Mrwt::clear_window(PdId pd, MemoryHandle window) {
  const std::optional<std::uint32_t> index = find(window);
  if (!index) return AccessCheck::kA;
  MrwtEntry& entry = entries_[*index];
  if (entry.type != EntryType::kWindow) return AccessCheck::kB;
  if (entry.pd != pd) return AccessCheck::kC;
  if (entry.length > 0) --entries_[entry.parent_index].windows_bound;
  if (entry.one_touch_enabled) --one_touch_live_;
  const std::uint8_t instance = entry.instance;
  entry = MrwtEntry{};
  entry.instance = instance;
  entry.is_used = true;
  entry.type = EntryType::kWindow;
  entry.pd = pd;
  entry.parent_index = *index;
  return std::nullopt;
}

}  // namespace splitnic::fabric
