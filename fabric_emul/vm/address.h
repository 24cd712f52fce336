// The addresses of an emulated node, a type each, and their fields [S000-26]:
//   effective  segment pointer (63..40) | page number (39..12) | offset (11..0): of a process
//   virtual    upper bits (63..40)      | page number (39..12) | offset (11..0): of the node
//   physical   frame number of the arena (39..12) | offset (11..0): never leaves the node
#pragma once

#include <cstdint>

#include "base/strong_id.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

using ProcessId = base::StrongId<struct ProcessTag, std::uint32_t>;
using EffectiveAddress = base::StrongId<struct EffectiveAddressTag, std::uint64_t>;
using PhysicalAddress = base::StrongId<struct PhysicalAddressTag, std::uint64_t>;
using SegmentPointer = base::StrongId<struct SegmentPointerTag, std::uint32_t>;  // 24 bits
using VirtualSegment = base::StrongId<struct VirtualSegmentTag, std::uint32_t>;  // upper 24 bits
using VirtualPage = base::StrongId<struct VirtualPageTag, std::uint64_t>;        // 24 + 28 bits
using PhysicalPage = base::StrongId<struct PhysicalPageTag, std::uint32_t>;      // frame number

inline constexpr unsigned kOffsetBits = 12;
inline constexpr unsigned kPageBits = 28;
inline constexpr unsigned kSegmentShift = kOffsetBits + kPageBits;
inline constexpr std::uint64_t kVmPageBytes = std::uint64_t{1} << kOffsetBits;
inline constexpr std::uint64_t kSegmentPagesMax = std::uint64_t{1} << kPageBits;
inline constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{1} << kSegmentShift;

constexpr std::uint64_t offset_in_page(std::uint64_t address) {
  return address & (kVmPageBytes - 1);
}
constexpr std::uint64_t offset_in_segment(std::uint64_t address) {
  return address & (kSegmentBytesMax - 1);
}
constexpr std::uint32_t page_number(std::uint64_t address) {
  return static_cast<std::uint32_t>(offset_in_segment(address) >> kOffsetBits);
}

constexpr SegmentPointer segment_of(EffectiveAddress address) {
  return SegmentPointer(static_cast<std::uint32_t>(address.value >> kSegmentShift));
}
constexpr EffectiveAddress start_of_segment(SegmentPointer segment) {
  return EffectiveAddress(std::uint64_t{segment.value} << kSegmentShift);
}
constexpr VirtualSegment segment_of(VirtualPage page) {
  return VirtualSegment(static_cast<std::uint32_t>(page.value >> kPageBits));
}
constexpr std::uint32_t number_in_segment(VirtualPage page) {
  return static_cast<std::uint32_t>(page.value & (kSegmentPagesMax - 1));
}
constexpr VirtualPage page_of(VirtualSegment upper, std::uint32_t number) {
  return VirtualPage(std::uint64_t{upper.value} << kPageBits | number);
}
constexpr VirtualPage page_of(VirtualAddress address) {
  return VirtualPage(address.value >> kOffsetBits);
}
constexpr VirtualAddress address_in(VirtualPage page, std::uint64_t offset) {
  return VirtualAddress(page.value << kOffsetBits | offset);
}
constexpr PhysicalPage page_of(PhysicalAddress address) {
  return PhysicalPage(static_cast<std::uint32_t>(address.value >> kOffsetBits));
}
constexpr PhysicalAddress address_in(PhysicalPage page, std::uint64_t offset) {
  return PhysicalAddress(std::uint64_t{page.value} << kOffsetBits | offset);
}

// Permitted accesses to a page.
enum PageProtection : std::uint8_t { kPageRead = 1, kPageWrite = 2 };
inline constexpr std::uint8_t kPageProtections = kPageRead | kPageWrite;

}  // namespace splitnic::fabric
