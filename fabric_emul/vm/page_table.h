// From virtual to physical pages, behind one seam: a table private to the adapter, or one that it
// shares with the VMM in inverted form. Callers of the verbs reach neither [S000-30]. One thread
// owns a table. find() and set() of a page that comes in allocate nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "fabric_emul/vm/address.h"

namespace splitnic::fabric {

struct PageEntry {
  PhysicalPage frame;           // means something only while it is valid
  bool is_valid = false;        // false: the page is out
  bool is_mapped = false;       // by MapLocalPage: the adapter may use it
  std::uint8_t protection = 0;  // PageProtection bits

  friend constexpr bool operator==(const PageEntry&, const PageEntry&) = default;
};

class PageTable {
 public:
  virtual ~PageTable() = default;
  virtual std::optional<PageEntry> find(VirtualPage page) const noexcept = 0;
  // Enters a page or changes its entry. A frame has one page at a time.
  virtual void set(VirtualPage page, const PageEntry& entry) = 0;
  virtual void erase(VirtualPage page) = 0;
  virtual std::size_t size() const = 0;
};

enum class PageTableForm : std::uint8_t { kPrivate, kShared };

}  // namespace splitnic::fabric
