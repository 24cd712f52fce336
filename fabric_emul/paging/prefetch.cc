#include "fabric_emul/paging/prefetch.h"

#include <algorithm>
#include <string>

#include "fabric_emul/mem/access_check.h"

namespace splitnic::fabric {

std::uint64_t Prefetcher::first_part(const Range& range) const {
  const MrwtEntry& entry = *table_.entry(range.region);
  if (entry.att == nullptr) return range.length;
  const std::uint64_t page_bytes = std::uint64_t{1} << entry.page_log2;
  const std::uint64_t at = entry.att_offset + (range.address.value - entry.start.value);
  return std::min(range.length, page_bytes - at % page_bytes);
}

bool Prefetcher::is_out(const Range& range) const {
  const MrwtEntry& entry = *table_.entry(range.region);
  if (entry.att == nullptr) return false;
  const std::uint64_t at = entry.att_offset + (range.address.value - entry.start.value);
  return entry.att->page(static_cast<std::size_t>(at >> entry.page_log2)) == nullptr;
}

bool Prefetcher::touch(const Range& range) const {
  return table_.access(range.region, range.address, 1, AccessKind::kLocalRead, range.pd, Qpn{})
      .ok();
}

base::Result<std::size_t> Prefetcher::count_out(PdId pd, MemoryHandle region,
                                                VirtualAddress address,
                                                std::uint64_t length) const {
  const auto refuse = [](AccessCheck check) {
    return base::Error(std::string("prefetching: check ") + static_cast<char>(check) +
                       " refuses it");
  };
  const MrwtEntry* entry = table_.entry(region);
  if (entry == nullptr || !entry->is_valid) return refuse(AccessCheck::kA);
  if (entry->type != EntryType::kRegion) return refuse(AccessCheck::kB);
  if (entry->pd != pd) return refuse(AccessCheck::kC);
  if (length == 0 || !check_range(*entry, address, length)) return refuse(AccessCheck::kE);
  if (!check_rights(*entry, AccessKind::kLocalRead)) return refuse(AccessCheck::kF);
  std::size_t out = 0;
  for (Range left{pd, region, address, length}; left.length > 0;) {
    out += is_out(left) ? 1 : 0;
    const std::uint64_t part = first_part(left);
    left.address = VirtualAddress(left.address.value + part);
    left.length -= part;
  }
  return out;
}

base::Result<std::size_t> Prefetcher::bring_in(PdId pd, MemoryHandle region, VirtualAddress address,
                                               std::uint64_t length) {
  auto out = count_out(pd, region, address, length);
  if (!out) return out.error();
  for (Range left{pd, region, address, length}; left.length > 0;) {
    if (is_out(left) && !touch(left)) return base::Error("prefetching: no frame is left");
    const std::uint64_t part = first_part(left);
    left.address = VirtualAddress(left.address.value + part);
    left.length -= part;
  }
  return out;
}

base::Status Prefetcher::ask(PdId pd, MemoryHandle region, VirtualAddress address,
                             std::uint64_t length) {
  const auto out = count_out(pd, region, address, length);
  if (!out) return out.error();
  if (*out > 0) asked_.push_back({pd, region, address, length});
  return {};
}

std::size_t Prefetcher::run(std::size_t pages_max) {
  std::size_t done = 0;
  while (done < pages_max && !asked_.empty()) {
    Range& range = asked_.front();
    // It may have ended, or have been moved to another domain, since it was asked for.
    if (!count_out(range.pd, range.region, range.address, range.length)) {
      asked_.pop_front();
      continue;
    }
    if (is_out(range)) {
      if (!touch(range)) {  // no frame: the access will try again
        asked_.pop_front();
        continue;
      }
      ++done;
    }
    const std::uint64_t part = first_part(range);
    range.address = VirtualAddress(range.address.value + part);
    range.length -= part;
    if (range.length == 0) asked_.pop_front();
  }
  return done;
}

}  // namespace splitnic::fabric
