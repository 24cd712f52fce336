// Re-registration of a region: the old handle ends and a new one begins, or nothing changes.
#include <string>

#include "base/check.h"
#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {

base::Result<MemoryHandle> Mrwt::reregister(MemoryHandle region, const RegionChange& change) {
  static constexpr const char* kWhat = "re-registering memory: ";
  const auto refuse = [](const char* why) { return base::Error(std::string(kWhat) + why); };
  const std::optional<std::uint32_t> old = find(region);
  if (!old || entries_[*old].type != EntryType::kRegion || !entries_[*old].is_valid) {
    return refuse("the handle names no valid region");
  }
  // The word of its consumer speaks for one handle, and for its arbitrator.
  if (entries_[*old].attribute == RegionAttribute::kQuiescable) {
    return refuse("the region is quiescable");
  }
  if (entries_[*old].windows_bound != 0) return refuse("unbind its windows first");
  if (change.rights && (*change.rights & ~(kAccessRights | kWindowBind)) != 0) {
    return refuse("unknown access rights");
  }
  if (change.memory && change.memory->empty()) return refuse("the region is empty");
  if (change.memory && entries_[*old].page_log2 != 0) return refuse("the region is made of pages");
  if (change.memory && entries_[*old].guard != nullptr) return refuse("the region has a guard");
  if (entries_[*old].instance == kTagInstanceLast && free_indices_.empty() &&
      entries_.size() == kTagIndexReserved) {
    return refuse("all memory keys are used up");
  }
  MrwtEntry kept = entries_[*old];
  if (kept.att != nullptr) atts_.share(kept.att);
  end_entry(*old);
  const base::Result<std::uint32_t> index = take_index();
  CHECK(index.has_value());  // one has just become free
  kept.instance = entries_[*index].instance;
  kept.pd = change.pd.value_or(kept.pd);
  kept.rights = change.rights.value_or(kept.rights);
  if (change.memory) {
    kept.memory = change.memory->data();
    kept.length = change.memory->size();
    kept.start = random_start(kept.length, kept.memory);
  }
  entries_[*index] = kept;
  return permutation_.to_handle({*index, kept.instance});
}

}  // namespace splitnic::fabric
