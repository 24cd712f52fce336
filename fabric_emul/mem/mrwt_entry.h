// One entry of the memory region and window table (MRWT). Regions and windows use the same fields
// [S002-04]. This form translates directly: `memory` is where the byte at `start` lies; a window
// holds its own pointer into the memory of its region, so the path looks at the region for its
// valid bit only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_emul/mem/access.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Two bits [S002-05]. Only regions and windows are ever made; the others are refused by check b.
enum class EntryType : std::uint8_t { kRegion = 0, kWindow = 1, kIscsiRegion = 2, kReserved = 3 };

struct MrwtEntry {
  VirtualAddress start;
  std::uint64_t length = 0;
  std::byte* memory = nullptr;
  const WriteGuard* guard = nullptr;  // regions: asked with each remote write
  PdId pd;
  Qpn bound_qp;                     // windows: the one QP that may use it, 0 = any of the PD
  std::uint32_t parent_index = 0;   // windows: Tag_Index of the region
  std::uint32_t windows_bound = 0;  // regions: how many windows refer to it
  std::uint8_t instance = 0;
  EntryType type = EntryType::kRegion;
  std::uint8_t rights = 0;  // AccessRight bits
  bool is_used = false;     // the index belongs to a live region or window
  bool is_valid = false;    // implies is_used; without it every access is refused
};

}  // namespace splitnic::fabric
