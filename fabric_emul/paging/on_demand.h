// The pages of one on-demand region: in frames of an arena, or out with their bytes kept here. The
// adapter brings a page in when an access touches it, and the operation completes [S000-31].
// Bringing in copies but does not allocate. One thread owns it, the one that owns the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/paging/arena.h"

namespace splitnic::fabric {

class OnDemandPages final : public PageSource {
 public:
  // `pages`: how many the region has. The arena must outlive this.
  OnDemandPages(Arena& arena, std::size_t pages) : arena_(arena), saved_(pages) {}

  // A page that was never in is zeros. nullptr when the arena has no free frame.
  std::byte* bring_in(std::size_t page) noexcept override;
  // Keeps the bytes of the page and gives its frame back. Refused if `region` has not this source,
  // or the page is out.
  base::Status take_out(Mrwt& table, MemoryHandle region, std::size_t page);

  std::uint64_t brought_in() const { return brought_in_; }
  // Returns how often there was no frame.
  std::uint64_t without_frame() const { return without_frame_; }

 private:
  Arena& arena_;
  std::vector<std::vector<std::byte>> saved_;  // empty: the page is in, or was never
  std::uint64_t brought_in_ = 0;
  std::uint64_t without_frame_ = 0;
};

}  // namespace splitnic::fabric
