// Processes and their segments.
#include "fabric_emul/vm/vmm.h"

#include <algorithm>

#include "base/check.h"
#include "fabric_emul/vm/invalid.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint32_t kPointerFirst = 0x800000;
constexpr std::uint32_t kUpperFirst = 0xC00000;
constexpr std::uint32_t kUpperLast = 0xFFFFFE;  // no segment reaches the end of the address space

bool is_size(std::uint64_t pages) { return pages > 0 && pages <= kSegmentPagesMax; }
bool is_protection(std::uint8_t bits) { return bits != 0 && (bits & ~kPageProtections) == 0; }

}  // namespace

Vmm::Vmm(Arena& arena)
    : arena_(arena),
      table_(arena.frames()),
      next_pointer_(kPointerFirst),
      next_upper_(kUpperFirst) {
  CHECK(arena.frame_bytes() == kVmPageBytes && arena.frames() <= kSegmentPagesMax);
}

Vmm::~Vmm() {
  CHECK(registrations() == 0);
  for (const auto& [upper, memory] : memories_) drop_pages(upper, 0);
}

ProcessId Vmm::create_process(ProcessKind kind) {
  ++entries_;
  const ProcessId id(++last_process_);
  processes_[id].kind = kind;
  return id;
}

base::Status Vmm::end_process(ProcessId process) {
  ++entries_;
  const auto found = processes_.find(process);
  if (found == processes_.end()) return invalid("ending a process: there is none of this number");
  for (VmmClient* const client : std::vector(found->second.clients)) {
    client->on_process_end(process);
  }
  CHECK(found->second.clients.empty());
  const SegmentTable table = std::move(found->second.table);
  processes_.erase(found);
  for (const auto& [segment, entry] : table.entries()) release(entry.upper);
  return {};
}

std::optional<ProcessKind> Vmm::kind_of(ProcessId process) const {
  ++entries_;
  const auto found = processes_.find(process);
  return found != processes_.end() ? std::optional(found->second.kind) : std::nullopt;
}

base::Result<EffectiveAddress> Vmm::add_segment(ProcessId process, std::uint64_t pages,
                                                std::uint8_t protection) {
  ++entries_;
  if (!processes_.contains(process)) return invalid("adding a segment: there is no such process");
  if (!is_size(pages)) return invalid("adding a segment: it has 1 to 2^28 pages");
  if (!is_protection(protection)) return invalid("adding a segment: unknown protection");
  if (next_pointer_ == kUpperFirst || next_upper_ > kUpperLast) {
    return base::Error("adding a segment: all numbers of segments were used", ENOSPC);
  }
  const SegmentPointer segment(next_pointer_++);
  const VirtualSegment upper(next_upper_++);
  memories_[upper] = {pages, protection, 1, {}};
  publish(process, segment, {true, upper, pages, protection});
  return start_of_segment(segment);
}

base::Status Vmm::remove_segment(ProcessId process, EffectiveAddress segment) {
  ++entries_;
  const auto entry = find(process, segment);
  if (!entry) return entry.error().within("removing a segment");
  publish(process, segment_of(segment), {});
  release(entry->upper);
  return {};
}

base::Status Vmm::resize_segment(ProcessId process, EffectiveAddress segment, std::uint64_t pages) {
  ++entries_;
  const auto entry = find(process, segment);
  if (!entry) return entry.error().within("resizing a segment");
  if (!is_size(pages)) return invalid("resizing a segment: it has 1 to 2^28 pages");
  memories_.at(entry->upper).pages = pages;
  publish_memory(entry->upper);
  drop_pages(entry->upper, pages);
  return {};
}

base::Status Vmm::protect_segment(ProcessId process, EffectiveAddress segment,
                                  std::uint8_t protection) {
  ++entries_;
  const auto entry = find(process, segment);
  if (!entry) return entry.error().within("protecting a segment");
  if (!is_protection(protection)) return invalid("protecting a segment: unknown protection");
  Memory& memory = memories_.at(entry->upper);
  memory.protection = protection;
  publish_memory(entry->upper);
  for (const auto& [number, saved] : memory.saved) {
    const VirtualPage page = page_of(entry->upper, number);
    PageEntry changed = table_.find(page).value();
    changed.protection = protection;
    set_page(page, changed);
  }
  return {};
}

base::Status Vmm::remap_segment(ProcessId process, EffectiveAddress segment,
                                EffectiveAddress like) {
  ++entries_;
  const auto from = find(process, segment);
  const auto to = find(process, like);
  if (!from || !to) return (from ? to : from).error().within("remapping a segment");
  ++memories_.at(to->upper).users;
  publish(process, segment_of(segment), *to);
  release(from->upper);
  return {};
}

base::Result<SegmentTable> Vmm::register_driver(ProcessId process, VmmClient& client) {
  ++entries_;
  const auto found = processes_.find(process);
  if (found == processes_.end()) return invalid("registering a driver: there is no such process");
  std::vector<VmmClient*>& clients = found->second.clients;
  if (std::ranges::find(clients, &client) != clients.end()) {
    return invalid("registering a driver: it is registered for this process");
  }
  clients.push_back(&client);
  return found->second.table;
}

void Vmm::unregister_driver(ProcessId process, VmmClient& client) {
  ++entries_;
  const auto found = processes_.find(process);
  if (found != processes_.end()) std::erase(found->second.clients, &client);
}

std::size_t Vmm::registrations() const {
  std::size_t count = 0;
  for (const auto& [id, process] : processes_) count += process.clients.size();
  return count;
}

base::Result<SegmentEntry> Vmm::find(ProcessId process, EffectiveAddress segment) const {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return invalid("there is no such process");
  const SegmentEntry* const entry = found->second.table.find(segment_of(segment));
  if (entry == nullptr || offset_in_segment(segment.value) != 0) {
    return invalid("no segment of the process begins at this address");
  }
  return *entry;
}

// The only place where an entry changes; reports it to the drivers [S000-28].
void Vmm::publish(ProcessId id, SegmentPointer segment, const SegmentEntry& entry) {
  Process& process = processes_.at(id);
  if (entry.is_valid)
    process.table.set(segment, entry);
  else
    process.table.erase(segment);
  for (VmmClient* const client : process.clients) {
    client->segment_table_update(id, segment, entry);
  }
}

// Size and protection of a memory, in every entry that leads to it.
void Vmm::publish_memory(VirtualSegment upper) {
  const Memory& memory = memories_.at(upper);
  for (const auto& [id, process] : processes_) {
    const SegmentTable before = process.table;
    for (const auto& [segment, entry] : before.entries()) {
      if (entry.upper == upper) {
        publish(id, segment, {true, upper, memory.pages, memory.protection});
      }
    }
  }
}

void Vmm::release(VirtualSegment upper) {
  if (--memories_.at(upper).users > 0) return;
  drop_pages(upper, 0);
  memories_.erase(upper);
}

}  // namespace splitnic::fabric
