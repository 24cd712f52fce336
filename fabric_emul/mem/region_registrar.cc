#include "fabric_emul/mem/region_registrar.h"

#include <limits>
#include <memory>
#include <string>

#include "base/check.h"
#include "fabric_emul/mem/access_check.h"

namespace splitnic::fabric {
namespace {

// Start addresses given by the table: multiples of this, below kStartSpace.
constexpr std::uint64_t kStartAlignment = 64;
constexpr std::uint64_t kStartSpace = std::uint64_t{1} << 56;

// start + length may reach 2^64 - 1, so that every sum of the two fits.
bool wraps(VirtualAddress start, std::uint64_t length) {
  return length > std::numeric_limits<std::uint64_t>::max() - start.value;
}

}  // namespace

// A live region entry without its memory. `memory`: the process address that the start must not be.
base::Result<std::uint32_t> RegionRegistrar::take_region(PdId pd, std::uint64_t length,
                                                         std::uint8_t rights,
                                                         std::optional<VirtualAddress> start,
                                                         const std::byte* memory) {
  if (length == 0) return base::Error("registering memory: the region is empty");
  if ((rights & ~(kAccessRights | kWindowBind)) != 0) {
    return base::Error("registering memory: unknown access rights");
  }
  if (start && wraps(*start, length)) {
    return base::Error("registering memory: the region passes the end of the address space");
  }
  if (!start && length > kStartSpace / 2) {
    return base::Error("registering memory: the region is too long for a random start address");
  }
  const base::Result<std::uint32_t> index = entries_.take();
  if (!index) return index.error().within("registering memory");

  MrwtEntry& entry = entries_[*index];
  entry.start = start ? *start : random_start(length, memory);
  entry.length = length;
  entry.pd = pd;
  entry.type = EntryType::kRegion;
  entry.rights = rights;
  entry.is_valid = true;
  return *index;
}

// REQUIRES: length <= kStartSpace / 2. Never 0, never the address in this process.
VirtualAddress RegionRegistrar::random_start(std::uint64_t length, const std::byte* memory) {
  const std::uint64_t places = (kStartSpace - length) / kStartAlignment;
  const auto process_address = reinterpret_cast<std::uintptr_t>(memory);
  for (;;) {
    const std::uint64_t start = (random_.below(places) + 1) * kStartAlignment;
    if (start != process_address) return VirtualAddress(start);
  }
}

base::Result<MemoryHandle> RegionRegistrar::register_region(PdId pd, base::MutableBytes memory,
                                                            std::uint8_t rights,
                                                            std::optional<VirtualAddress> start) {
  const auto index = take_region(pd, memory.size(), rights, start, memory.data());
  if (!index) return index.error();
  MrwtEntry& entry = entries_[*index];
  entry.memory = memory.data();
  return entries_.handle_of(*index);
}

base::Result<MemoryHandle> RegionRegistrar::register_pages(PdId pd, const PagedMemory& memory,
                                                           std::uint8_t rights,
                                                           const PagedOptions& options) {
  static constexpr const char* kWhat = "registering pages";
  if (options.source != nullptr && options.current_io != nullptr) {
    return base::Error("registering pages: a region is on-demand or quiescable, not both");
  }
  if (const auto pages = check_pages(memory, options.source != nullptr); !pages) {
    return pages.error().within(kWhat);
  }
  const base::Result<AttControl> control = choose_form(memory, options);
  if (!control) return control.error().within(kWhat);
  if (!atts_.has_room_for(att_pages_for(*control, memory.pages.size()))) {
    return base::Error("registering pages: no room in the translation tables");
  }
  const auto index = take_region(pd, memory.length, rights, options.start, memory.pages[0]);
  if (!index) return index.error();

  MrwtEntry& entry = entries_[*index];
  entry.current_io = options.current_io;
  if (options.source != nullptr) entry.attribute = RegionAttribute::kOnDemand;
  if (options.current_io != nullptr) entry.attribute = RegionAttribute::kQuiescable;
  fill_pages(entry, memory, *control, options.source);
  return entries_.handle_of(*index);
}

// REQUIRES room in the translation tables.
void RegionRegistrar::fill_pages(MrwtEntry& entry, const PagedMemory& memory, AttControl control,
                                 PageSource* source) {
  entry.att_control = control;
  entry.page_log2 = memory.page_log2;
  entry.att_offset = memory.first_offset;
  if (control == AttControl::kDirect) {
    entry.memory = memory.pages[0] + memory.first_offset;
  } else {
    entry.att = atts_.add(std::make_unique<Att>(control, memory.page_log2, memory.pages, source));
  }
}

base::Result<MemoryHandle> RegionRegistrar::register_shared(PdId pd, MemoryHandle other,
                                                            std::uint8_t rights,
                                                            std::optional<VirtualAddress> start) {
  const std::optional<std::uint32_t> from = entries_.find(other);
  if (!from || entries_[*from].type != EntryType::kRegion || entries_[*from].is_reserved) {
    return base::Error("sharing memory: the handle names no region");
  }
  if (entries_[*from].space != nullptr) {
    return base::Error("sharing memory: the region is an address space");
  }
  if (entries_[*from].attribute == RegionAttribute::kQuiescable) {
    return base::Error("sharing memory: the region is quiescable");
  }
  const auto index = take_region(pd, entries_[*from].length, rights, start, entries_[*from].memory);
  if (!index) return index.error();
  const MrwtEntry& like = entries_[*from];
  MrwtEntry& entry = entries_[*index];
  entry.memory = like.memory;
  entry.att = like.att;
  entry.att_offset = like.att_offset;
  entry.att_control = like.att_control;
  entry.page_log2 = like.page_log2;
  entry.attribute = like.attribute;
  if (entry.att != nullptr) atts_.share(entry.att);
  return entries_.handle_of(*index);
}

base::Result<MemoryHandle> RegionRegistrar::register_space(PdId pd, VirtualAddress start,
                                                           std::uint64_t length,
                                                           std::uint8_t rights, Translator& space) {
  const auto index = take_region(pd, length, rights, start, nullptr);
  if (!index) return index.error();
  MrwtEntry& entry = entries_[*index];
  entry.space = &space;
  entry.page_log2 = kPageLog2Min;
  entry.attribute = RegionAttribute::kOnDemand;
  return entries_.handle_of(*index);
}

base::Result<MemoryHandle> RegionRegistrar::register_iscsi(PdId pd, base::MutableBytes memory,
                                                           std::uint8_t rights,
                                                           std::uint8_t control) {
  if ((rights & ~(kRemoteRead | kRemoteWrite)) != 0) {
    return base::Error("registering an iSCSI region: only remote rights");
  }
  if (control == 0 || (control & ~(kDeviceRead | kDeviceWrite)) != 0) {
    return base::Error("registering an iSCSI region: the command reads, writes, or both");
  }
  const auto index = take_region(pd, memory.size(), rights, VirtualAddress(0), memory.data());
  if (!index) return index.error();
  MrwtEntry& entry = entries_[*index];
  entry.type = EntryType::kIscsiRegion;
  entry.memory = memory.data();
  entry.iscsi_control = control;
  return entries_.handle_of(*index);
}

base::Result<MemoryHandle> RegionRegistrar::reserve_region(PdId pd, const NewRegion& region) {
  const bool is_span = !region.memory.empty();
  if (is_span != region.pages.pages.empty()) {
    return base::Error("registering memory: either one span or pages");
  }
  if (!is_span) {
    if (const auto pages = check_pages(region.pages, false); !pages) {
      return pages.error().within("registering pages");
    }
  }
  const auto index =
      take_region(pd, is_span ? region.memory.size() : region.pages.length, region.rights,
                  region.start, is_span ? region.memory.data() : region.pages.pages[0]);
  if (!index) return index.error();
  MrwtEntry& entry = entries_[*index];
  entry.is_valid = false;
  entry.is_reserved = true;
  return entries_.handle_of(*index);
}

std::optional<RegisterCheck> RegionRegistrar::make_reserved(PdId pd, MemoryHandle handle,
                                                            const NewRegion& region) {
  const Key key = entries_.key_of(handle);
  if (key.index >= entries_.index_count() || !entries_[key.index].is_used)
    return RegisterCheck::kEntry;
  MrwtEntry& entry = entries_[key.index];
  if (!check_instance(entry, key.instance)) return RegisterCheck::kInstance;
  if (!entry.is_reserved || entry.pd != pd) return RegisterCheck::kEntry;
  if (region.memory.empty()) {
    const AttControl control = smallest_form(region.pages);
    if (!atts_.has_room_for(att_pages_for(control, region.pages.pages.size()))) {
      end(key.index);
      return RegisterCheck::kSpace;
    }
    fill_pages(entry, region.pages, control, nullptr);
  } else {
    entry.memory = region.memory.data();
  }
  entry.is_reserved = false;
  entry.is_valid = true;
  return std::nullopt;
}

void RegionRegistrar::give_up_reserved(MemoryHandle handle) {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (index && entries_[*index].is_reserved) end(*index);
}

base::Result<MemoryHandle> RegionRegistrar::reregister(MemoryHandle region,
                                                       const RegionChange& change) {
  static constexpr const char* kWhat = "re-registering memory: ";
  const auto refuse = [](const char* why) { return base::Error(std::string(kWhat) + why); };
  const std::optional<std::uint32_t> old = entries_.find(region);
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
  if (!entries_.has_index_after(*old)) return refuse("all memory keys are used up");
  MrwtEntry kept = entries_[*old];
  if (kept.att != nullptr) atts_.share(kept.att);
  end(*old);
  const base::Result<std::uint32_t> index = entries_.take();
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
  return entries_.handle_of(*index);
}

base::Status RegionRegistrar::deregister(MemoryHandle region) {
  const std::optional<std::uint32_t> index = entries_.find(region);
  const EntryType type = index ? entries_[*index].type : EntryType::kReserved;
  if (type != EntryType::kRegion && type != EntryType::kIscsiRegion) {
    return base::Error("deregistering memory: the handle names no region");
  }
  if (const std::uint32_t windows = entries_[*index].windows_bound; windows != 0) {
    return base::Error("deregistering memory: unbind its " + std::to_string(windows) +
                       " window(s) first");
  }
  end(*index);
  return {};
}

void RegionRegistrar::end(std::uint32_t index) {
  if (Att* const att = entries_[index].att; att != nullptr) atts_.release(att);
  entries_.end(index);
}

base::Status RegionRegistrar::set_page(MemoryHandle region, std::size_t page, std::byte* at) {
  const std::optional<std::uint32_t> index = entries_.find(region);
  if (!index || entries_[*index].type != EntryType::kRegion) {
    return base::Error("moving a page: the handle names no region");
  }
  const MrwtEntry& entry = entries_[*index];
  if (entry.attribute == RegionAttribute::kPinned) {
    return base::Error("moving a page: the region is pinned");
  }
  if (entry.attribute == RegionAttribute::kQuiescable && entry.is_valid) {
    return base::Error("moving a page: the region is valid; quiesce it first");
  }
  if (entry.att == nullptr) return base::Error("moving a page: the region is an address space");
  if (page >= entry.att->page_count()) {
    return base::Error("moving a page: the region has " + std::to_string(entry.att->page_count()) +
                       " pages");
  }
  if (!is_page_aligned(at)) return base::Error("moving a page: it is not aligned to 4 KiB");
  entry.att->set_page(page, at);
  return {};
}

void RegionRegistrar::set_guard(MemoryHandle region, const WriteGuard& guard) {
  const auto index = entries_.find(region);
  CHECK(index && entries_[*index].type == EntryType::kRegion);
  entries_[*index].guard = &guard;
}

}  // namespace splitnic::fabric
