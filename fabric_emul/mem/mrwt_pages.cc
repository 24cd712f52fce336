// The table's calls for regions that are not one span of memory: made of pages, shared, iSCSI.
#include <algorithm>
#include <string>
#include <utility>

#include "fabric_emul/mem/access_check.h"
#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {
namespace {

bool is_aligned(const std::byte* page) {
  const auto address = reinterpret_cast<std::uintptr_t>(page);
  return (address & ((std::uintptr_t{1} << kPageLog2Min) - 1)) == 0;
}

bool are_consecutive(const PagedMemory& memory) {
  const std::uint64_t page_bytes = std::uint64_t{1} << memory.page_log2;
  return std::ranges::adjacent_find(memory.pages, [&](const std::byte* a, const std::byte* b) {
           return a + page_bytes != b;
         }) == memory.pages.end();
}

// The pages are as many as the range takes, and lie where pages may.
base::Status check_pages(const PagedMemory& memory, bool may_be_out) {
  if (!is_page_size(memory.page_log2)) {
    return base::Error("the page size is not from 4 KiB to 256 MiB");
  }
  const std::uint64_t page_bytes = std::uint64_t{1} << memory.page_log2;
  if (memory.first_offset >= page_bytes) {
    return base::Error("the first byte is not in the first page");
  }
  if (memory.pages.empty() || memory.pages.size() > kSecondOrderPagesMax) {
    return base::Error("a region has 1 to " + std::to_string(kSecondOrderPagesMax) + " pages");
  }
  const std::uint64_t room = memory.pages.size() * page_bytes - memory.first_offset;
  if (memory.length > room || room - memory.length >= page_bytes) {
    return base::Error(std::to_string(memory.pages.size()) + " pages are not what " +
                       std::to_string(memory.length) + " bytes take");
  }
  if (!std::ranges::all_of(memory.pages, is_aligned)) {
    return base::Error("a page is not aligned to 4 KiB");
  }
  if (!may_be_out && std::ranges::count(memory.pages, nullptr) != 0) {
    return base::Error("a page is out, and the region is not on-demand");
  }
  return {};
}

// The first indirect form that holds the pages.
AttControl smallest_form(const PagedMemory& memory) {
  return memory.pages.size() <= kFirstOrderPagesMax ? AttControl::kFirstOrder
                                                    : AttControl::kSecondOrder;
}

// The form of translation: the one asked for, or the first indirect one that holds the pages.
base::Result<AttControl> choose_form(const PagedMemory& memory, const PagedOptions& options) {
  const bool is_small = memory.pages.size() <= kFirstOrderPagesMax;
  const AttControl control = options.control.value_or(smallest_form(memory));
  const bool may_move = options.source != nullptr || options.current_io != nullptr;
  if (control == AttControl::kDirect && (may_move || !are_consecutive(memory))) {
    return base::Error("direct translation needs consecutive pages that stay");
  }
  if (control == AttControl::kFirstOrder && !is_small) {
    return base::Error("first-order translation holds " + std::to_string(kFirstOrderPagesMax) +
                       " pages");
  }
  return control;
}

}  // namespace

base::Result<MemoryHandle> Mrwt::register_pages(PdId pd, const PagedMemory& memory,
                                                std::uint8_t rights, const PagedOptions& options) {
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
  return permutation_.to_handle({*index, entry.instance});
}

// REQUIRES room in the translation tables.
void Mrwt::fill_pages(MrwtEntry& entry, const PagedMemory& memory, AttControl control,
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

base::Result<MemoryHandle> Mrwt::reserve_region(PdId pd, const NewRegion& region) {
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
  return permutation_.to_handle({*index, entry.instance});
}

std::optional<RegisterCheck> Mrwt::make_reserved(PdId pd, MemoryHandle handle,
                                                 const NewRegion& region) {
  const Key key = permutation_.to_key(handle);
  if (key.index >= entries_.size() || !entries_[key.index].is_used) return RegisterCheck::kEntry;
  MrwtEntry& entry = entries_[key.index];
  if (!check_instance(entry, key.instance)) return RegisterCheck::kInstance;
  if (!entry.is_reserved || entry.pd != pd) return RegisterCheck::kEntry;
  if (region.memory.empty()) {
    const AttControl control = smallest_form(region.pages);
    if (!atts_.has_room_for(att_pages_for(control, region.pages.pages.size()))) {
      end_entry(key.index);
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

void Mrwt::give_up_reserved(MemoryHandle handle) {
  const std::optional<std::uint32_t> index = find(handle);
  if (index && entries_[*index].is_reserved) end_entry(*index);
}

base::Result<MemoryHandle> Mrwt::register_shared(PdId pd, MemoryHandle other, std::uint8_t rights,
                                                 std::optional<VirtualAddress> start) {
  const std::optional<std::uint32_t> from = find(other);
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
  return permutation_.to_handle({*index, entry.instance});
}

base::Result<MemoryHandle> Mrwt::register_iscsi(PdId pd, base::MutableBytes memory,
                                                std::uint8_t rights, std::uint8_t control) {
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
  return permutation_.to_handle({*index, entry.instance});
}

base::Status Mrwt::set_page(MemoryHandle region, std::size_t page, std::byte* at) {
  const std::optional<std::uint32_t> index = find(region);
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
  if (!is_aligned(at)) return base::Error("moving a page: it is not aligned to 4 KiB");
  entry.att->set_page(page, at);
  return {};
}

}  // namespace splitnic::fabric
