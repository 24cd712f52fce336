// The segment table of one process: what the upper 24 bits of its effective addresses lead to
// [S000-26]. The VMM has the original, the driver one copy per process [S000-27].
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "fabric_emul/vm/address.h"

namespace splitnic::fabric {

struct SegmentEntry {
  bool is_valid = false;
  VirtualSegment upper;         // the upper bits of its virtual addresses
  std::uint64_t pages = 0;      // 1 to kSegmentPagesMax; what is behind them is not there
  std::uint8_t protection = 0;  // PageProtection bits that its pages may have
};

class SegmentTable {
 public:
  void set(SegmentPointer segment, const SegmentEntry& entry) { entries_[segment] = entry; }
  void erase(SegmentPointer segment) { entries_.erase(segment); }
  // nullptr: no valid entry.
  const SegmentEntry* find(SegmentPointer segment) const noexcept;

  // nullopt: no valid segment, or behind its end.
  std::optional<VirtualAddress> to_virtual(EffectiveAddress address) const noexcept;
  // All of [address, address + length) lies in valid segments, each of which may be used so. False
  // if it is empty or passes 2^64.
  bool allows(EffectiveAddress address, std::uint64_t length, std::uint8_t protection) const;

  std::size_t size() const { return entries_.size(); }
  const std::unordered_map<SegmentPointer, SegmentEntry>& entries() const { return entries_; }

 private:
  std::unordered_map<SegmentPointer, SegmentEntry> entries_;
};

}  // namespace splitnic::fabric
