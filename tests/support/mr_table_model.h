// A plain reference model of the memory region and window table, and the driver that compares both.
// A case is a list of 64-bit words, one operation each; any words will do, so that a property test
// and a fuzzer use the same. The model knows no tables: it asks, byte by byte, where a byte lies.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/wide.h"
#include "fabric_emul/mem/mrwt.h"
#include "fabric_emul/mem/placement.h"

namespace splitnic::test {

class MrTableModel {
 public:
  MrTableModel();
  // Runs the case on a new table. Empty: table and model agree; else where they do not.
  std::string run(std::span<const std::uint64_t> words);
  // Returns the number of accesses that passed, over all cases: a model that never allows anything
  // shows nothing.
  std::uint64_t passed() const { return passed_; }

 private:
  static constexpr std::size_t kFrames = 24;  // of 4 KiB, real memory
  static constexpr std::size_t kEntries = 6;
  static constexpr std::size_t kFrameOverheadBytes = 4096;

  // Draws parameters from one word; when it is used up, from a second one made of it. All are 0 if
  // the word is 0, so small words are simple operations.
  struct Draw {
    explicit Draw(std::uint64_t w) : word(w), more(w * 0x9E3779B97F4A7C15U) {}
    std::uint64_t word;
    std::uint64_t more;
    std::uint64_t below(std::uint64_t bound) {
      if (word == 0) word = std::exchange(more, 0);
      const std::uint64_t drawn = word % bound;
      word /= bound;
      return drawn;
    }
    bool one_in(std::uint64_t n) { return below(n) == n - 1; }
  };

  struct Pages final : public fabric::PageSource {
    std::vector<std::byte*> at;    // nullptr: out
    std::vector<std::byte*> home;  // where the source brings it in
    std::uint8_t log2 = 12;
    bool is_on_demand = false;
    bool is_dry = false;  // the source has no room
    bool is_real = true;  // memory that may be touched
    std::byte* bring_in(std::size_t page) noexcept override {
      return is_dry ? nullptr : home[page];
    }
  };
  struct Entry {
    fabric::EntryType type = fabric::EntryType::kRegion;
    fabric::RegionAttribute attribute = fabric::RegionAttribute::kPinned;
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::uint64_t first = 0;  // offset of the first byte in the memory below
    std::uint8_t rights = 0;
    std::uint8_t iscsi_control = 0;
    fabric::PdId pd;
    fabric::Qpn bound_qp;
    bool is_live = true;
    bool is_valid = true;
    bool can_move = false;  // made of pages in a table
    std::size_t parent = 0;
    std::shared_ptr<Pages> pages;
  };
  struct Request {
    std::size_t entry;
    std::uint64_t address;
    std::uint64_t length;
    fabric::PdId pd;
    fabric::Qpn qp;
  };

  void step(Draw draw);
  void add_span(Draw draw);
  void add_pages(Draw draw);
  void add_shared(Draw draw);
  void add_iscsi(Draw draw);
  void bind(Draw draw);
  void end(Draw draw);
  void validate(Draw draw);
  void move_page(Draw draw);
  void access(Draw draw);
  void access_iscsi(Draw draw);
  void copy(Draw draw, bool writes);

  std::byte* any_page(Draw& draw, std::uint8_t log2);
  std::uint64_t any_start(Draw& draw);
  std::size_t any_entry(Draw& draw) { return draw.below(entries_.size()); }
  // Half the time all of `rights`; one beyond them now and then.
  static std::uint8_t any_rights(Draw& draw, std::uint8_t all) {
    return static_cast<std::uint8_t>(draw.one_in(2) ? all : draw.below(all + 2U));
  }
  fabric::PdId any_pd(Draw& draw) { return fabric::PdId(draw.one_in(8) ? 2 : 1); }
  Request any_request(Draw& draw);
  bool has_room() const { return live_ < kEntries; }
  bool is_region(std::size_t entry) const {
    return entries_[entry].is_live && entries_[entry].type == fabric::EntryType::kRegion;
  }
  bool start_fits(const Entry& entry) const {
    return static_cast<base::Wide>(entry.start) + entry.length <= ~std::uint64_t{0};
  }

  // The letter of a local or remote access, '-' if it passes.
  char letter(const Request& request, fabric::AccessKind kind) const;
  // Returns the place of byte `offset` of the entry, nullptr if its page is out.
  std::byte* where(const Entry& entry, std::uint64_t offset) const;
  // Brings in the page of the byte, as the table will; false if the source is dry.
  bool touch(const Entry& entry, std::uint64_t offset);
  void expect(bool agree, const char* what) {
    if (!agree && wrong_.empty()) wrong_ = what;
  }
  void added(const base::Result<fabric::MemoryHandle>& handle, bool expected, const Entry& entry,
             const char* what);
  void compare_run(const Entry& entry, std::uint64_t offset, std::uint64_t length,
                   const fabric::AccessResult& got);

  std::unique_ptr<std::byte[], void (*)(void*)> frames_;  // what the table's users touch
  std::vector<std::byte> clean_;                          // what they begin with
  std::vector<std::byte> shadow_;                         // what the model expects
  std::atomic<std::uint32_t> io_word_{0};
  std::optional<fabric::Mrwt> table_;
  std::vector<Entry> entries_;
  std::vector<fabric::MemoryHandle> handles_;
  std::size_t live_ = 0;
  std::string wrong_;
  std::uint64_t passed_ = 0;
};

}  // namespace splitnic::test
