#include "fabric_emul/mem/paged_memory.h"

#include <algorithm>
#include <string>

namespace splitnic::fabric {
namespace {

bool are_consecutive(const PagedMemory& memory) {
  const std::uint64_t page_bytes = std::uint64_t{1} << memory.page_log2;
  return std::ranges::adjacent_find(memory.pages, [&](const std::byte* a, const std::byte* b) {
           return a + page_bytes != b;
         }) == memory.pages.end();
}

}  // namespace

bool is_page_aligned(const std::byte* page) {
  const auto address = reinterpret_cast<std::uintptr_t>(page);
  return (address & ((std::uintptr_t{1} << kPageLog2Min) - 1)) == 0;
}

base::Status check_pages(const PagedMemory& memory, bool may_be_out) {
  if (!is_page_size(memory.page_log2)) {
    return base::Error("the page size is not from 4 KiB to 256 MiB");
  }
  const std::uint64_t page_bytes = std::uint64_t{1} << memory.page_log2;
  if (memory.first_offset >= page_bytes) {
    return base::Error("the first byte is not in the first page");
  }
  if (memory.pages.empty() || memory.pages.size() > kSecondOrderPagesMax) {
    return base::Error("a region has 1 to " + std::to_string(kSecondOrderPagesMax) + " pages");
  }
  const std::uint64_t room = memory.pages.size() * page_bytes - memory.first_offset;
  if (memory.length > room || room - memory.length >= page_bytes) {
    return base::Error(std::to_string(memory.pages.size()) + " pages are not what " +
                       std::to_string(memory.length) + " bytes take");
  }
  if (!std::ranges::all_of(memory.pages, is_page_aligned)) {
    return base::Error("a page is not aligned to 4 KiB");
  }
  if (!may_be_out && std::ranges::count(memory.pages, nullptr) != 0) {
    return base::Error("a page is out, and the region is not on-demand");
  }
  return {};
}

AttControl smallest_form(const PagedMemory& memory) {
  return memory.pages.size() <= kFirstOrderPagesMax ? AttControl::kFirstOrder
                                                    : AttControl::kSecondOrder;
}

base::Result<AttControl> choose_form(const PagedMemory& memory, const PagedOptions& options) {
  const bool is_small = memory.pages.size() <= kFirstOrderPagesMax;
  const AttControl control = options.control.value_or(smallest_form(memory));
  const bool may_move = options.source != nullptr || options.current_io != nullptr;
  if (control == AttControl::kDirect && (may_move || !are_consecutive(memory))) {
    return base::Error("direct translation needs consecutive pages that stay");
  }
  if (control == AttControl::kFirstOrder && !is_small) {
    return base::Error("first-order translation holds " + std::to_string(kFirstOrderPagesMax) +
                       " pages");
  }
  return control;
}

}  // namespace splitnic::fabric
