// Address translation tables (ATT): where the pages of a region lie. A page address is 64 bits, in
// the order of the region; the first page may begin and the last may end inside the region's first
// and last page, which is the caller's offset to add [S002-09].
//
// First order: one ATT page lists the pages. Second order: one ATT page lists ATT pages [S002-07].
// The direct form has no table at all: the entry points at the memory. A page that is out has no
// address; with a source it is brought in when it is touched [S000-31]. One thread owns a table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

namespace splitnic::fabric {

// Two bits of the entry.
enum class AttControl : std::uint8_t { kDirect = 0, kFirstOrder = 1, kSecondOrder = 2 };

// Page sizes are powers of two from 4 KiB to 256 MiB, chosen per entry [S002-08].
inline constexpr std::uint8_t kPageLog2Min = 12;
inline constexpr std::uint8_t kPageLog2Max = 28;
constexpr bool is_page_size(std::uint8_t log2) {
  return log2 >= kPageLog2Min && log2 <= kPageLog2Max;
}

// An ATT page is 4 KiB of 64-bit addresses.
inline constexpr std::size_t kAttPageEntries = 512;
inline constexpr std::size_t kFirstOrderPagesMax = kAttPageEntries;
inline constexpr std::size_t kSecondOrderPagesMax = kAttPageEntries * kAttPageEntries;

// Returns how many ATT pages the translation of `pages` pages takes.
constexpr std::size_t att_pages_for(AttControl control, std::size_t pages) {
  if (control == AttControl::kDirect) return 0;
  if (control == AttControl::kFirstOrder) return 1;
  return 1 + (pages + kAttPageEntries - 1) / kAttPageEntries;
}

inline constexpr std::size_t kAttPagesDefault = 1U << 18;  // of an adapter: 1 GiB of ATT pages

// Brings in pages of an on-demand region.
class PageSource {
 public:
  virtual ~PageSource() = default;
  // Returns the place of page `page` of the table now, with its bytes in place; nullptr if there is
  // no room. May take other pages out. Called on the path.
  virtual std::byte* bring_in(std::size_t page) noexcept = 0;
};

class Att {
 public:
  // REQUIRES: not kDirect, at least one page and no more than the form holds, a page size, and
  // nullptr among `pages` only where it may be out. `source` may be nullptr; else it outlives this.
  Att(AttControl control, std::uint8_t page_log2, std::span<std::byte* const> pages,
      PageSource* source);

  // Consecutive bytes from `at`; nullptr if the page is out and cannot be brought in.
  struct Run {
    std::byte* at = nullptr;
    std::uint64_t bytes = 0;
  };
  // The longest run that begins `offset` bytes after the beginning of the first page, at most
  // `length`. Of pages that are out only the first is brought in. It holds until a page moves.
  // REQUIRES: length > 0 and all of it within the pages.
  Run run_at(std::uint64_t offset, std::uint64_t length) noexcept;

  // REQUIRES: page < page_count().
  std::byte* page(std::size_t page) const noexcept;
  void set_page(std::size_t page, std::byte* at) noexcept;

  std::size_t page_count() const { return page_count_; }
  std::uint8_t page_log2() const { return page_log2_; }
  const PageSource* source() const { return source_; }
  // Returns the number of ATT pages that it takes.
  std::size_t att_page_count() const;

 private:
  using Leaf = std::array<std::byte*, kAttPageEntries>;
  using Directory = std::array<std::unique_ptr<Leaf>, kAttPageEntries>;

  std::unique_ptr<Leaf> first_;           // first order
  std::unique_ptr<Directory> directory_;  // second order
  std::size_t page_count_;
  PageSource* source_;
  std::uint8_t page_log2_;
};

// The tables of an adapter, with how many regions use each. Windows use the table of their region
// and are not counted: the region stays while they do [S002-11].
class AttStore {
 public:
  // At most pages_max ATT pages at one time.
  explicit AttStore(std::size_t pages_max) : pages_max_(pages_max) {}

  bool has_room_for(std::size_t att_pages) const { return att_pages <= pages_max_ - pages_used_; }
  // REQUIRES has_room_for() what it takes.
  Att* add(std::unique_ptr<Att> att);
  // One more, one less region with this table; it ends with the last [S002-10].
  void share(Att* att);
  void release(Att* att);

  std::size_t count() const { return slots_.size(); }
  std::size_t pages_used() const { return pages_used_; }

 private:
  struct Slot {
    std::unique_ptr<Att> att;
    std::size_t regions = 1;
  };
  std::unordered_map<const Att*, Slot> slots_;
  std::size_t pages_max_;
  std::size_t pages_used_ = 0;
};

}  // namespace splitnic::fabric
