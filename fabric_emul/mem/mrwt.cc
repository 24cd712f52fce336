#include "fabric_emul/mem/mrwt.h"

#include <algorithm>
#include <limits>
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

constexpr std::uint32_t saturated(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

// Where accesses of no bytes to a region made of pages point: its end may have no page.
std::byte no_byte{};

base::Error refused_bind(AccessCheck check) {
  return base::Error(std::string("binding a memory window: check ") + static_cast<char>(check) +
                     " refuses it");
}

}  // namespace

Mrwt::Mrwt(std::size_t entries_max, base::Random& random, bool identity_keys, MrwtProfile profile,
           std::size_t att_pages_max)
    : atts_(att_pages_max),
      entries_max_(entries_max),
      random_(random),
      permutation_(identity_keys ? KeyPermutation() : KeyPermutation(random)),
      profile_(profile) {
  CHECK(entries_max > 0);
  last_.fill({MemoryHandle{}, permutation_.to_key(MemoryHandle{})});
}

// The path asks for the same handle again and again: cells of one packet, packets of one pool.
inline Key Mrwt::key_of(MemoryHandle handle, AccessKind kind) const noexcept {
  Known& last = last_[is_remote(kind) ? 1 : 0];
  if (last.handle != handle) last = {handle, permutation_.to_key(handle)};
  return last.key;
}

AccessResult Mrwt::access(MemoryHandle handle, VirtualAddress address, std::uint64_t length,
                          AccessKind kind, PdId pd, Qpn qp) const noexcept {
  const Key key = key_of(handle, kind);
  if (key.index >= entries_.size()) return {nullptr, AccessCheck::kA};
  const MrwtEntry& entry = entries_[key.index];
  const MrwtEntry* parent =
      entry.type == EntryType::kWindow ? &entries_[entry.parent_index] : nullptr;

  if (!check_valid(entry, parent)) return {nullptr, AccessCheck::kA};
  if (!check_entry_type(entry, kind, profile_)) return {nullptr, AccessCheck::kB};
  if (!check_domain(entry, pd, qp)) return {nullptr, AccessCheck::kC};
  if (!check_instance(entry, key.instance)) return {nullptr, AccessCheck::kD};
  if (!check_range(entry, address, length)) return {nullptr, AccessCheck::kE};
  if (!check_rights(entry, kind)) return {nullptr, AccessCheck::kF};
  const WriteGuard* guard = parent != nullptr ? parent->guard : entry.guard;
  if (guard != nullptr && kind == AccessKind::kRemoteWrite && !guard->may_write(address, length)) {
    return {nullptr, AccessCheck::kF};
  }
  return locate(entry, address.value - entry.start.value, length, kind);
}

AccessResult Mrwt::access_iscsi(MemoryHandle handle, std::uint64_t offset, std::uint64_t length,
                                IscsiTransfer transfer, PdId pd) const noexcept {
  const Key key = permutation_.to_key(handle);
  if (key.index >= entries_.size()) return {nullptr, AccessCheck::kA};
  const MrwtEntry& entry = entries_[key.index];

  if (!check_valid(entry, nullptr)) return {nullptr, AccessCheck::kA};
  if (!check_iscsi_type(entry)) return {nullptr, AccessCheck::kB};
  if (!check_domain(entry, pd, Qpn{})) return {nullptr, AccessCheck::kC};
  if (!check_instance(entry, key.instance)) return {nullptr, AccessCheck::kD};
  if (!check_iscsi_range(entry, offset, length)) return {nullptr, AccessCheck::kE};
  if (!check_iscsi_rights(entry, transfer)) return {nullptr, AccessCheck::kF};
  if (!check_iscsi_direction(entry, transfer)) return {nullptr, AccessCheck::kG};
  return locate(
      entry, offset, length,
      transfer == IscsiTransfer::kR2t ? AccessKind::kRemoteRead : AccessKind::kRemoteWrite);
}

// REQUIRES: [offset, offset + length) lies within the entry.
inline AccessResult Mrwt::locate(const MrwtEntry& entry, std::uint64_t offset, std::uint64_t length,
                                 AccessKind kind) const noexcept {
  if (entry.memory != nullptr) return {entry.memory + offset, AccessCheck::kA, saturated(length)};
  if (length == 0) return {&no_byte, AccessCheck::kA};
  if (entry.space != nullptr) {
    return entry.space->translate(VirtualAddress(entry.start.value + offset), length, kind);
  }
  const Att::Run run = entry.att->run_at(entry.att_offset + offset, length);
  return {run.at, AccessCheck::kA, saturated(run.bytes)};
}

std::optional<AccessCheck> Mrwt::check_bind(PdId pd, MemoryHandle region, VirtualAddress address,
                                            std::uint64_t length) const noexcept {
  const Key key = permutation_.to_key(region);
  if (key.index >= entries_.size()) return AccessCheck::kA;
  const MrwtEntry& entry = entries_[key.index];

  if (!check_valid(entry, nullptr)) return AccessCheck::kA;
  if (entry.type != EntryType::kRegion) return AccessCheck::kB;
  if (!check_domain(entry, pd, Qpn{})) return AccessCheck::kC;
  if (!check_instance(entry, key.instance)) return AccessCheck::kD;
  if (length == 0 || !check_range(entry, address, length)) return AccessCheck::kE;
  if (!check_window_bind(entry)) return AccessCheck::kG;
  return std::nullopt;
}

// A live region entry without its memory. `memory`: the process address that the start must not be.
base::Result<std::uint32_t> Mrwt::take_region(PdId pd, std::uint64_t length, std::uint8_t rights,
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
  const base::Result<std::uint32_t> index = take_index();
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

base::Result<MemoryHandle> Mrwt::register_region(PdId pd, base::MutableBytes memory,
                                                 std::uint8_t rights,
                                                 std::optional<VirtualAddress> start) {
  const auto index = take_region(pd, memory.size(), rights, start, memory.data());
  if (!index) return index.error();
  MrwtEntry& entry = entries_[*index];
  entry.memory = memory.data();
  return permutation_.to_handle({*index, entry.instance});
}

base::Result<MemoryHandle> Mrwt::bind_window(PdId pd, MemoryHandle region, VirtualAddress address,
                                             std::uint64_t length, std::uint8_t rights,
                                             Qpn bound_qp) {
  if (const auto refused = check_bind(pd, region, address, length)) return refused_bind(*refused);
  if ((rights & ~kAccessRights) != 0) {
    return base::Error("binding a memory window: unknown access rights");
  }
  const base::Result<std::uint32_t> index = take_index();
  if (!index) return index.error().within("binding a memory window");
  fill_window(*index, region, address, length, rights, bound_qp);
  return permutation_.to_handle({*index, entries_[*index].instance});
}

// REQUIRES that the bind passed its checks.
void Mrwt::fill_window(std::uint32_t index, MemoryHandle region, VirtualAddress address,
                       std::uint64_t length, std::uint8_t rights, Qpn bound_qp) {
  const std::uint32_t parent_index = permutation_.to_key(region).index;
  MrwtEntry& parent = entries_[parent_index];
  ++parent.windows_bound;
  MrwtEntry& entry = entries_[index];
  entry.start = address;
  entry.length = length;
  const std::uint64_t offset = address.value - parent.start.value;
  if (parent.memory != nullptr) entry.memory = parent.memory + offset;
  entry.space = parent.space;
  entry.att = parent.att;
  entry.att_offset = parent.att_offset + offset;
  entry.att_control = parent.att_control;
  entry.page_log2 = parent.page_log2;
  entry.pd = parent.pd;
  entry.bound_qp = bound_qp;
  entry.parent_index = parent_index;
  entry.type = EntryType::kWindow;
  entry.rights = rights;
  entry.is_valid = true;
}

base::Status Mrwt::deregister(MemoryHandle region) {
  const std::optional<std::uint32_t> index = find(region);
  const EntryType type = index ? entries_[*index].type : EntryType::kReserved;
  if (type != EntryType::kRegion && type != EntryType::kIscsiRegion) {
    return base::Error("deregistering memory: the handle names no region");
  }
  if (const std::uint32_t windows = entries_[*index].windows_bound; windows != 0) {
    return base::Error("deregistering memory: unbind its " + std::to_string(windows) +
                       " window(s) first");
  }
  end_entry(*index);
  return {};
}

base::Status Mrwt::unbind(MemoryHandle window) {
  const std::optional<std::uint32_t> index = find(window);
  if (!index || entries_[*index].type != EntryType::kWindow) {
    return base::Error("unbinding a memory window: the handle names no window");
  }
  end_window(*index);
  return {};
}

std::size_t Mrwt::release_domain(PdId pd) {
  std::size_t ended = 0;
  for (const EntryType type : {EntryType::kWindow, EntryType::kIscsiRegion, EntryType::kRegion}) {
    for (std::uint32_t index = 0; index < entries_.size(); ++index) {
      const MrwtEntry& entry = entries_[index];
      if (!entry.is_used || entry.pd != pd || entry.type != type) continue;
      if (type == EntryType::kWindow)
        end_window(index);
      else
        end_entry(index);
      ++ended;
    }
  }
  return ended;
}

base::Status Mrwt::set_valid(MemoryHandle handle, bool is_valid) {
  const std::optional<std::uint32_t> index = find(handle);
  if (!index || entries_[*index].length == 0 || entries_[*index].is_reserved) {
    return base::Error("changing the valid bit: the handle names no region or bound window");
  }
  entries_[*index].is_valid = is_valid;
  return {};
}

void Mrwt::set_guard(MemoryHandle region, const WriteGuard& guard) {
  const auto index = find(region);
  CHECK(index && entries_[*index].type == EntryType::kRegion);
  entries_[*index].guard = &guard;
}

const MrwtEntry* Mrwt::entry(MemoryHandle handle) const {
  const std::optional<std::uint32_t> index = find(handle);
  return index ? &entries_[*index] : nullptr;
}

VirtualAddress Mrwt::start_of(MemoryHandle handle) const {
  const std::optional<std::uint32_t> index = find(handle);
  CHECK(index.has_value());
  return entries_[*index].start;
}

std::uint64_t Mrwt::length_of(MemoryHandle handle) const {
  const std::optional<std::uint32_t> index = find(handle);
  CHECK(index.has_value());
  return entries_[*index].length;
}

// A free index, oldest first, else one never used. Its entry is cleared but for the instance.
base::Result<std::uint32_t> Mrwt::take_index() {
  if (live_count_ == entries_max_) {
    return base::Error("the table is full (" + std::to_string(entries_max_) + " entries)");
  }
  std::uint32_t index = 0;
  if (!free_indices_.empty()) {
    index = free_indices_.front();
    free_indices_.pop_front();
  } else {
    if (entries_.size() == kTagIndexReserved) return base::Error("all memory keys are used up");
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back().instance = kTagInstanceFirst;
  }
  const std::uint8_t instance = entries_[index].instance;
  entries_[index] = MrwtEntry{};
  entries_[index].instance = instance;
  entries_[index].is_used = true;
  ++live_count_;
  return index;
}

// From here on the old handle fails check a, and check d once the index lives again.
void Mrwt::end_entry(std::uint32_t index) {
  MrwtEntry& entry = entries_[index];
  CHECK(entry.is_used && entry.windows_bound == 0);
  if (entry.att != nullptr && entry.type != EntryType::kWindow) atts_.release(entry.att);
  entry.att = nullptr;
  if (entry.one_touch_enabled) --one_touch_live_;
  entry.is_used = false;
  entry.is_valid = false;
  --live_count_;
  if (entry.instance == kTagInstanceLast) return;  // retired: its next instance would wrap
  ++entry.instance;
  free_indices_.push_back(index);
}

std::optional<std::uint32_t> Mrwt::find(MemoryHandle handle) const {
  const Key key = permutation_.to_key(handle);
  if (key.index >= entries_.size()) return std::nullopt;
  const MrwtEntry& entry = entries_[key.index];
  if (!entry.is_used || entry.instance != key.instance) return std::nullopt;
  return key.index;
}

// REQUIRES: length <= kStartSpace / 2. Never 0, never the address in this process.
VirtualAddress Mrwt::random_start(std::uint64_t length, const std::byte* memory) {
  const std::uint64_t places = (kStartSpace - length) / kStartAlignment;
  const auto process_address = reinterpret_cast<std::uintptr_t>(memory);
  for (;;) {
    const std::uint64_t start = (random_.below(places) + 1) * kStartAlignment;
    if (start != process_address) return VirtualAddress(start);
  }
}

}  // namespace splitnic::fabric
