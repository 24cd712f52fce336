// One entry of the memory region and window table (MRWT). Regions, windows and iSCSI regions use
// the same fields [S002-04]. Where `memory` is set it is where the byte at `start` lies, and
// nothing else is looked at; else `att` translates. A window has its own pointer into the memory
// or the table of its region, so the path looks at the region for its valid bit and guard only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric_emul/mem/access.h"
#include "fabric_emul/mem/att.h"
#include "fabric_emul/mem/translator.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Two bits [S002-05]. A reserved entry is never made, and check b refuses it everywhere.
enum class EntryType : std::uint8_t { kRegion = 0, kWindow = 1, kIscsiRegion = 2, kReserved = 3 };

// Whether the pages of a region may move: exactly one per region.
enum class RegionAttribute : std::uint8_t {
  kPinned,      // they stay where they are
  kOnDemand,    // they may be out at any time; an access brings them in [S000-31]
  kQuiescable,  // they may be swapped out once its consumer is quiescent [S004-09]
};

// Bits of MrwtEntry::iscsi_control: what the command of an iSCSI region does.
enum IscsiControl : std::uint8_t { kDeviceRead = 1, kDeviceWrite = 2 };

struct MrwtEntry {
  // Read by every access.
  VirtualAddress start;
  std::uint64_t length = 0;
  std::byte* memory = nullptr;        // direct: where `start` lies; nullptr: made of pages
  const WriteGuard* guard = nullptr;  // regions: asked with each remote write
  PdId pd;
  Qpn bound_qp;                    // windows: the one QP that may use it, 0 = any of the PD
  std::uint32_t parent_index = 0;  // windows: Tag_Index of the region
  std::uint8_t instance = 0;
  EntryType type = EntryType::kRegion;
  std::uint8_t rights = 0;   // AccessRight bits
  bool is_used = false;      // the index belongs to a live region or window
  bool is_valid = false;     // implies is_used; without it every access is refused
  bool is_reserved = false;  // regions: the key was given, the region is not made yet [X-21]

  // Translation through pages; a window has its region's.
  Att* att = nullptr;
  std::uint64_t att_offset = 0;  // of the byte at `start`, from the beginning of the first page
  AttControl att_control = AttControl::kDirect;
  std::uint8_t page_log2 = 0;   // 0: one span of memory, no pages
  Translator* space = nullptr;  // an address space: this translates, and `att` is not looked at

  RegionAttribute attribute = RegionAttribute::kPinned;
  std::atomic<std::uint32_t>* current_io = nullptr;  // quiescable regions: the consumer's word
  std::uint32_t windows_bound = 0;                   // regions: how many windows refer to it
  std::uint8_t iscsi_control = 0;                    // iSCSI regions: IscsiControl bits
  std::uint32_t stored_ddp_sn = 0;
  bool one_touch_enabled = false;  // ends with the first packet that uses it [S002-22]
  bool touched = false;            // by this packet of this queue pair, and no other may
  Qpn toucher_qp;
  Psn toucher_psn;
};

}  // namespace splitnic::fabric
