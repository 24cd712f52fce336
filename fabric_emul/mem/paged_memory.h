// Memory of a region that is made of pages: how its owner lists them, and which lists and which
// forms of translation a region can have.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "fabric_emul/mem/att.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Pages of one size [S002-08, S002-09].
struct PagedMemory {
  std::span<std::byte* const> pages;  // where each lies, in the order of the region
  std::uint8_t page_log2 = kPageLog2Min;
  std::uint64_t first_offset = 0;  // of the first byte within the first page
  std::uint64_t length = 0;
};
struct PagedOptions {
  std::optional<VirtualAddress> start;
  std::optional<AttControl> control;  // else the first indirect form that holds the pages
  // At most one of these; without any the region is pinned [X-23, S004-09].
  PageSource* source = nullptr;                      // on-demand: it brings pages in
  std::atomic<std::uint32_t>* current_io = nullptr;  // quiescable: the consumer's word
};

// Whether a page may lie there: at a multiple of 4 KiB. nullptr, a page that is out, may.
bool is_page_aligned(const std::byte* page);

// Refuses a list that is longer or shorter than the range takes, pages that are not aligned, and,
// unless they may be out, nullptr.
base::Status check_pages(const PagedMemory& memory, bool may_be_out);

// The first indirect form that holds the pages. REQUIRES that check_pages() passed.
AttControl smallest_form(const PagedMemory& memory);

// The form that the options ask for, else smallest_form(). Refused: kDirect unless the pages are
// consecutive and stay, first order for too many pages. REQUIRES that check_pages() passed.
base::Result<AttControl> choose_form(const PagedMemory& memory, const PagedOptions& options);

}  // namespace splitnic::fabric
