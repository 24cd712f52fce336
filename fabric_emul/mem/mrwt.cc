#include "fabric_emul/mem/mrwt.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "fabric_emul/mem/access_check.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint32_t saturated(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

// The target of accesses of no bytes to a region made of pages: its end may have no page.
std::byte no_byte{};

}  // namespace

Mrwt::Mrwt(std::size_t entries_max, base::Random& random, bool identity_keys, MrwtProfile profile,
           std::size_t att_pages_max)
    : entries_(entries_max, identity_keys ? KeyPermutation() : KeyPermutation(random)),
      profile_(profile),
      one_touch_(entries_),
      windows_(entries_, one_touch_),
      regions_(entries_, random, att_pages_max) {
  last_.fill({MemoryHandle{}, entries_.key_of(MemoryHandle{})});
}

// The path asks for the same handle again and again: cells of one packet, packets of one pool.
inline Key Mrwt::cached_key_of(MemoryHandle handle, AccessKind kind) const noexcept {
  Known& last = last_[is_remote(kind) ? 1 : 0];
  if (last.handle != handle) last = {handle, entries_.key_of(handle)};
  return last.key;
}

AccessResult Mrwt::access(MemoryHandle handle, VirtualAddress address, std::uint64_t length,
                          AccessKind kind, PdId pd, Qpn qp) const noexcept {
  const Key key = cached_key_of(handle, kind);
  if (key.index >= entries_.index_count()) return {nullptr, AccessCheck::kA};
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
  const Key key = entries_.key_of(handle);
  if (key.index >= entries_.index_count()) return {nullptr, AccessCheck::kA};
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

const MrwtEntry* Mrwt::entry(MemoryHandle handle) const {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  return index ? &entries_[*index] : nullptr;
}

VirtualAddress Mrwt::start_of(MemoryHandle handle) const {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  CHECK(index.has_value());
  return entries_[*index].start;
}

std::uint64_t Mrwt::length_of(MemoryHandle handle) const {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  CHECK(index.has_value());
  return entries_[*index].length;
}

base::Status Mrwt::set_valid(MemoryHandle handle, bool is_valid) {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index || entries_[*index].length == 0 || entries_[*index].is_reserved) {
    return base::Error("changing the valid bit: the handle names no region or bound window");
  }
  entries_[*index].is_valid = is_valid;
  return {};
}

std::optional<AccessCheck> Mrwt::end_by_peer(PdId pd, Qpn qp, MemoryHandle handle) {
  const std::optional<std::uint32_t> index = entries_.find(handle);
  if (!index || !entries_[*index].is_valid) return AccessCheck::kA;
  const MrwtEntry& entry = entries_[*index];
  if (!check_entry_type(entry, AccessKind::kRemoteWrite, profile_)) return AccessCheck::kB;
  const bool is_bound_elsewhere = entry.bound_qp != Qpn{} && entry.bound_qp != qp;
  if (entry.pd != pd || is_bound_elsewhere) return AccessCheck::kC;
  if ((entry.rights & (kRemoteRead | kRemoteWrite)) == 0) return AccessCheck::kF;
  if (entry.windows_bound > 0) return AccessCheck::kG;
  end(*index);
  return std::nullopt;
}

std::size_t Mrwt::release_domain(PdId pd) {
  std::size_t ended = 0;
  for (const EntryType type : {EntryType::kWindow, EntryType::kIscsiRegion, EntryType::kRegion}) {
    entries_.visit([&](std::uint32_t index) {
      if (entries_[index].pd != pd || entries_[index].type != type) return;
      end(index);
      ++ended;
    });
  }
  return ended;
}

void Mrwt::end(std::uint32_t index) {
  if (entries_[index].type == EntryType::kWindow)
    windows_.end(index);
  else
    regions_.end(index);
}

}  // namespace splitnic::fabric
