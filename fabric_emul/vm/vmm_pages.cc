// Pages of the processes: in frames, or out.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "fabric_emul/vm/vmm.h"

namespace splitnic::fabric {

// The only place where a page entry changes; reports it. A driver with several processes gets
// several reports.
void Vmm::set_page(VirtualPage page, const PageEntry& entry) {
  table_.set(page, entry);
  for (const auto& [id, process] : processes_) {
    for (VmmClient* const client : process.clients) client->on_page_changed(page, entry);
  }
}

bool Vmm::bring_in(VirtualPage page) noexcept {
  const auto found = memories_.find(segment_of(page));
  if (found == memories_.end() || number_in_segment(page) >= found->second.pages) return false;
  PageEntry entry =
      table_.find(page).value_or(PageEntry{{}, false, false, found->second.protection});
  if (entry.is_valid) return true;
  std::byte* const frame = arena_.take();
  if (frame == nullptr) {
    ++without_frame_;
    return false;
  }
  std::vector<std::byte>& saved = found->second.saved[number_in_segment(page)];
  if (!saved.empty()) std::memcpy(frame, saved.data(), saved.size());
  saved = {};
  entry.frame = PhysicalPage(static_cast<std::uint32_t>(arena_.number_of(frame)));
  entry.is_valid = true;
  set_page(page, entry);
  ++brought_in_;
  return true;
}

base::Status Vmm::take_out(VirtualPage page) {
  ++entries_;
  std::optional<PageEntry> entry = table_.find(page);
  if (!entry || !entry->is_valid) return base::Error("taking a page out: it is not in", EINVAL);
  std::byte* const frame = arena_.frame(entry->frame.value);
  memories_.at(segment_of(page))
      .saved.at(number_in_segment(page))
      .assign(frame, frame + kVmPageBytes);
  entry->is_valid = false;
  entry->frame = {};
  set_page(page, *entry);
  arena_.release(frame);
  return {};
}

base::Result<PageEntry> Vmm::map_page(VirtualPage page) {
  ++entries_;
  const auto found = memories_.find(segment_of(page));
  if (found == memories_.end() || number_in_segment(page) >= found->second.pages) {
    return base::Error("mapping a page: there is none at this address", EINVAL);
  }
  if (!bring_in(page)) return base::Error("mapping a page: no frame is free", ENOMEM);
  PageEntry entry = table_.find(page).value();
  entry.is_mapped = true;
  set_page(page, entry);
  return entry;
}

// Pages of this number and above are no more.
void Vmm::drop_pages(VirtualSegment upper, std::uint64_t from) {
  if (from >= kSegmentPagesMax) return;
  auto& saved = memories_.at(upper).saved;
  const auto first = saved.lower_bound(static_cast<std::uint32_t>(from));
  for (auto at = first; at != saved.end(); ++at) {
    const VirtualPage page = page_of(upper, at->first);
    const std::optional<PageEntry> entry = table_.find(page);
    table_.erase(page);
    for (const auto& [id, process] : processes_) {
      for (VmmClient* const client : process.clients) client->on_page_gone(page);
    }
    if (entry && entry->is_valid) arena_.release(arena_.frame(entry->frame.value));
  }
  saved.erase(first, saved.end());
}

std::optional<VirtualAddress> Vmm::to_virtual(ProcessId process, EffectiveAddress address) const {
  ++entries_;
  const auto found = processes_.find(process);
  if (found == processes_.end()) return std::nullopt;
  return found->second.table.to_virtual(address);
}

std::optional<VirtualPage> Vmm::page_in(PhysicalPage frame) const {
  ++entries_;
  return table_.page_in(frame);
}

std::optional<PhysicalAddress> Vmm::to_physical(VirtualAddress address) const {
  ++entries_;
  const std::optional<PageEntry> entry = table_.find(page_of(address));
  if (!entry || !entry->is_valid) return std::nullopt;
  return address_in(entry->frame, offset_in_page(address.value));
}

base::Status Vmm::each_page(ProcessId process, EffectiveAddress address, std::size_t bytes,
                            const Visit& visit) {
  ++entries_;
  const auto found = processes_.find(process);
  if (found == processes_.end()) return base::Error("there is no such process", EINVAL);
  if (bytes == 0) return {};
  if (!found->second.table.allows(address, bytes, 0)) {
    return base::Error("the process has no memory there", EINVAL);
  }
  for (std::size_t done = 0; done < bytes;) {
    const EffectiveAddress here(address.value + done);
    const VirtualAddress virtual_here = found->second.table.to_virtual(here).value();
    if (!bring_in(page_of(virtual_here))) return base::Error("no frame is free", ENOMEM);
    const std::size_t part =
        std::min<std::size_t>(bytes - done, kVmPageBytes - offset_in_page(here.value));
    visit(at(to_physical(virtual_here).value()), done, part);
    done += part;
  }
  return {};
}

base::Status Vmm::store(ProcessId process, EffectiveAddress address, base::Bytes in) {
  const auto done = each_page(process, address, in.size(),
                              [&](std::byte* to, std::size_t from, std::size_t bytes) {
                                std::memcpy(to, in.data() + from, bytes);
                              });
  if (!done) return done.error().within("storing to memory");
  return {};
}

base::Status Vmm::load(ProcessId process, EffectiveAddress address, base::MutableBytes out) {
  const auto done = each_page(process, address, out.size(),
                              [&](const std::byte* from, std::size_t to, std::size_t bytes) {
                                std::memcpy(out.data() + to, from, bytes);
                              });
  if (!done) return done.error().within("loading from memory");
  return {};
}

}  // namespace splitnic::fabric
