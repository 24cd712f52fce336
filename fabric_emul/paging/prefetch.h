// Advice that pages of an on-demand region are about to be used, so that the path does not wait
// for them [S000-31]. It never changes what an access may do: a page that was not brought in is
// brought in by the access. One thread owns it, the one that owns the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/status.h"
#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric {

class Prefetcher {
 public:
  explicit Prefetcher(const Mrwt& table) : table_(table) {}

  // Brings in, before it returns, every page of [address, address + length) that is out, and
  // returns how many. Refused: the letter that refuses a local read there, a length of 0, or no
  // frame left (what was brought in until then stays in).
  base::Result<std::size_t> bring_in(PdId pd, MemoryHandle region, VirtualAddress address,
                                     std::uint64_t length);
  // Returns the number of those pages that are out; brings none in. Regions that are not on-demand
  // have none.
  base::Result<std::size_t> count_out(PdId pd, MemoryHandle region, VirtualAddress address,
                                      std::uint64_t length) const;
  // As bring_in(), but by run(). Refused as count_out() is; later failures are not reported.
  base::Status ask(PdId pd, MemoryHandle region, VirtualAddress address, std::uint64_t length);
  // Brings in up to pages_max pages that were asked for, oldest first; returns how many.
  std::size_t run(std::size_t pages_max);
  bool is_idle() const { return asked_.empty(); }

 private:
  struct Range {
    PdId pd;
    MemoryHandle region;
    VirtualAddress address;
    std::uint64_t length = 0;
  };
  // The part of the range in its first page.
  std::uint64_t first_part(const Range& range) const;
  bool is_out(const Range& range) const;
  bool touch(const Range& range) const;

  const Mrwt& table_;
  std::deque<Range> asked_;
};

}  // namespace splitnic::fabric
