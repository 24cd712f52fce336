// Resident bytes of a piece of memory, by mincore.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/page_memory.h"

namespace splitnic::support {

// Bytes of the pages that are present, of those that lie whole in `memory`.
inline std::size_t resident(base::MutableBytes memory) {
  const std::size_t page = base::PageMemory::page_bytes();
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::size_t skip = (page - address % page) % page;
  if (memory.size() < skip + page) return 0;
  std::vector<unsigned char> pages((memory.size() - skip) / page);
  CHECK(::mincore(memory.data() + skip, pages.size() * page, pages.data()) == 0);
  const auto held = std::ranges::count_if(pages, [](unsigned char p) { return (p & 1U) != 0; });
  return static_cast<std::size_t>(held) * page;
}

}  // namespace splitnic::support
