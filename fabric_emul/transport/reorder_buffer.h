// The cells of an RC queue pair that arrived before one that is missing, by their distance from the
// next expected cell. Bounded in cells (the selective-repeat window) and in bytes, and by the
// memory of the peer; memory is taken on demand in chunks and reused. When no cell has waited for
// some time, all but kKeptBytes of it is freed. The caller drops a cell that does not fit; the peer
// retransmits it. Thread: the data thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/memory_account.h"

namespace splitnic::fabric {

class ReorderBuffer {
 public:
  // window: the expected cell and those behind it that may be kept (a power of two); bytes_max: the
  // size of all chunks together. `memory`, to which the chunks are charged, outlives this; null: to
  // nobody.
  ReorderBuffer(std::size_t window, std::size_t chunk_bytes, std::size_t bytes_max,
                base::MemoryAccount* memory = nullptr);

  // kNoMemory: neither its account nor the system has any for the cell.
  enum class Put { kStored, kDuplicate, kFull, kOutsideWindow, kNoMemory };
  // Keeps a copy of the cell that is `distance` >= 1 behind the expected one.
  Put put(std::size_t distance, base::Bytes cell);
  bool has(std::size_t distance) const;
  // The cell at distance 0 (the expected one), or empty. Valid until advance().
  base::Bytes expected() const;
  // The expected cell was taken, so every distance shrinks by one. Does nothing when empty().
  void advance();
  // The same as `cells` calls of advance(). REQUIRES empty().
  void advance_empty(std::uint32_t cells);
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  void clear();
  // Fills `words` with bit i (most significant first) = distance i + 1 present; returns words in
  // use.
  unsigned bitmap(std::span<std::uint32_t> words) const;

  // Chunks of this size stay.
  static constexpr std::size_t kKeptBytes = 128 << 10;
  // The others are freed when advance() was called this often without a cell that waits, so that a
  // path which loses some takes its memory once [S001-44].
  static constexpr std::uint32_t kCalmCells = 1 << 14;
  // The bytes of its table, which is not charged.
  static constexpr std::size_t table_bytes(std::size_t window) { return window * sizeof(Slot); }

 private:
  struct Slot {
    std::unique_ptr<std::byte[]> chunk;
    std::size_t bytes = 0;
  };
  bool add_chunk();
  void free_chunks();
  Slot& slot(std::size_t distance) { return slots_[(base_ + distance) & (slots_.size() - 1)]; }
  const Slot& slot(std::size_t distance) const {
    return slots_[(base_ + distance) & (slots_.size() - 1)];
  }

  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<std::byte[]>> free_;
  std::size_t chunk_bytes_;
  std::size_t chunks_max_;
  std::size_t chunks_made_ = 0;
  base::MemoryCharge charge_;
  std::uint32_t calm_ = 0;  // calls of advance() since a cell waited
  std::size_t base_ = 0;
  std::size_t count_ = 0;
  std::size_t farthest_ = 0;  // greatest distance in use, 0 if none
};

}  // namespace splitnic::fabric
