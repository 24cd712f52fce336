// Checks a to g of a memory access, one function each [S002-12 to S002-18]. Each is true when the
// access passes. Mrwt and WindowBinder call them in the order of the letters; the order is part of
// the contract, because the letter goes to the peer.
#pragma once

#include <cstdint>

#include "fabric_emul/mem/access.h"
#include "fabric_emul/mem/mrwt_entry.h"

namespace splitnic::fabric {

// a) The entry is valid; for a window, its region too [S002-12, S004-08].
constexpr bool check_valid(const MrwtEntry& entry, const MrwtEntry* parent) {
  return entry.is_valid && (parent == nullptr || parent->is_valid);
}

// b) Local access through regions only; remote access through windows, and through regions unless
// the profile is strict; neither through iSCSI regions [S002-13, X-17].
constexpr bool check_entry_type(const MrwtEntry& entry, AccessKind kind, MrwtProfile profile) {
  if (!is_remote(kind)) return entry.type == EntryType::kRegion;
  if (entry.type == EntryType::kRegion) return profile == MrwtProfile::kRegionsOk;
  return entry.type == EntryType::kWindow;
}

// c) Same protection domain, and the QP that the window is bound to, if it is bound to one
// [S002-14].
constexpr bool check_domain(const MrwtEntry& entry, PdId pd, Qpn qp) {
  return entry.pd == pd && (entry.bound_qp == Qpn{} || entry.bound_qp == qp);
}

// d) The key names this life of the entry, not an earlier one [S002-15].
constexpr bool check_instance(const MrwtEntry& entry, std::uint8_t instance) {
  return entry.instance == instance;
}

// e) [address, address + length) within [start, start + entry length). An entry never passes 2^64,
// so what fits in it does not wrap; the sum address + length is never formed [S002-16].
constexpr bool is_within(const MrwtEntry& entry, std::uint64_t offset, std::uint64_t length) {
  return offset <= entry.length && length <= entry.length - offset;
}
constexpr bool check_range(const MrwtEntry& entry, VirtualAddress address, std::uint64_t length) {
  return address >= entry.start && is_within(entry, address.value - entry.start.value, length);
}

// f) The right for this kind of access [S002-17].
constexpr bool check_rights(const MrwtEntry& entry, AccessKind kind) {
  return (entry.rights & right_for(kind)) != 0;
}

// g) The region lets windows be bound to it [S002-18].
constexpr bool check_window_bind(const MrwtEntry& entry) {
  return (entry.rights & kWindowBind) != 0;
}

// b, e, f and g of an iSCSI transfer: its own entry type; an offset, not an address; R2T reads our
// memory and Data-In writes it; and the command must go that way [S002-13, S002-16 to S002-18].
constexpr bool check_iscsi_type(const MrwtEntry& entry) {
  return entry.type == EntryType::kIscsiRegion;
}
constexpr bool check_iscsi_range(const MrwtEntry& entry, std::uint64_t offset,
                                 std::uint64_t length) {
  return is_within(entry, offset, length);
}
constexpr bool check_iscsi_rights(const MrwtEntry& entry, IscsiTransfer transfer) {
  return check_rights(
      entry, transfer == IscsiTransfer::kR2t ? AccessKind::kRemoteRead : AccessKind::kRemoteWrite);
}
constexpr bool check_iscsi_direction(const MrwtEntry& entry, IscsiTransfer transfer) {
  const unsigned needed = transfer == IscsiTransfer::kR2t ? kDeviceWrite : kDeviceRead;
  return (entry.iscsi_control & needed) != 0;
}

}  // namespace splitnic::fabric
