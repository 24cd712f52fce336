// Translates an address to that of a physical byte by the segment table and the page table, or
// returns the reason why it cannot [S000-26]. Pure.
#pragma once

#include "fabric_emul/vm/page_table.h"
#include "fabric_emul/vm/segment_table.h"

namespace splitnic::fabric {

enum class TranslationFault : std::uint8_t {
  kNone,
  kNoSegment,   // no valid entry in the segment table
  kPastEnd,     // behind the pages of the segment
  kUnmapped,    // MapLocalPage was not asked for the page
  kProtection,  // the page is not for this use
  kOut,         // the page is mapped, and swapped out
};

struct Translation {
  TranslationFault fault = TranslationFault::kNone;
  VirtualAddress address;  // from kUnmapped on: what the segment table gave
  PhysicalAddress at;      // kNone only
};

// `protection`: PageProtection bits that the access needs.
Translation translate(const PageTable& pages, VirtualAddress address,
                      std::uint8_t protection) noexcept;
Translation translate(const SegmentTable& segments, const PageTable& pages,
                      EffectiveAddress address, std::uint8_t protection) noexcept;

}  // namespace splitnic::fabric
