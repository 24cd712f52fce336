#include "fabric_emul/transport/reorder_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/check.h"

namespace splitnic::fabric {

ReorderBuffer::ReorderBuffer(std::size_t window, std::size_t chunk_bytes, std::size_t bytes_max,
                             base::MemoryAccount* memory)
    : slots_(std::bit_ceil(window)),
      chunk_bytes_(chunk_bytes),
      chunks_max_(std::max<std::size_t>(1, bytes_max / chunk_bytes)),
      charge_(memory) {}

bool ReorderBuffer::add_chunk() {
  if (!charge_.add(chunk_bytes_)) return false;
  std::unique_ptr<std::byte[]> chunk(new (std::nothrow) std::byte[chunk_bytes_]);
  if (chunk == nullptr) {
    charge_.give(chunk_bytes_);
    return false;
  }
  ++chunks_made_;
  free_.push_back(std::move(chunk));
  return true;
}

// REQUIRES that no cell waits.
void ReorderBuffer::free_chunks() {
  const std::size_t kept = kKeptBytes / chunk_bytes_;
  if (free_.size() <= kept) return;
  const std::size_t freed = free_.size() - kept;
  free_.resize(kept);
  chunks_made_ -= freed;
  charge_.give(freed * chunk_bytes_);
}

ReorderBuffer::Put ReorderBuffer::put(std::size_t distance, base::Bytes cell) {
  if (distance == 0 || distance >= slots_.size() || cell.size() > chunk_bytes_) {
    return Put::kOutsideWindow;
  }
  Slot& s = slot(distance);
  if (s.bytes != 0) return Put::kDuplicate;
  if (free_.empty()) {
    if (chunks_made_ == chunks_max_) return Put::kFull;
    if (!add_chunk()) return Put::kNoMemory;
  }
  s.chunk = std::move(free_.back());
  free_.pop_back();
  std::memcpy(s.chunk.get(), cell.data(), cell.size());
  s.bytes = cell.size();
  ++count_;
  farthest_ = std::max(farthest_, distance);
  return Put::kStored;
}

bool ReorderBuffer::has(std::size_t distance) const {
  return distance < slots_.size() && slot(distance).bytes != 0;
}

base::Bytes ReorderBuffer::expected() const {
  const Slot& s = slot(0);
  return {s.chunk.get(), s.bytes};
}

void ReorderBuffer::advance() {
  Slot& s = slot(0);
  if (s.bytes != 0) {
    free_.push_back(std::move(s.chunk));
    s.bytes = 0;
    --count_;
    calm_ = 0;
  }
  if (count_ == 0 && ++calm_ == kCalmCells) free_chunks();
  ++base_;
  farthest_ = count_ == 0 ? 0 : farthest_ - 1;
}

void ReorderBuffer::advance_empty(std::uint32_t cells) {
  const bool was_calm = calm_ >= kCalmCells;
  calm_ += cells;
  if (!was_calm && calm_ >= kCalmCells) free_chunks();
  base_ += cells;
}

void ReorderBuffer::clear() {
  for (Slot& s : slots_) {
    if (s.bytes == 0) continue;
    free_.push_back(std::move(s.chunk));
    s.bytes = 0;
  }
  count_ = 0;
  farthest_ = 0;
  free_chunks();
}

unsigned ReorderBuffer::bitmap(std::span<std::uint32_t> words) const {
  if (count_ == 0) return 0;
  const std::size_t bits = std::min(farthest_, words.size() * 32);
  const auto used = static_cast<unsigned>((bits + 31) / 32);
  std::fill_n(words.begin(), used, 0U);
  for (std::size_t i = 0; i < bits; ++i) {
    if (slot(i + 1).bytes != 0) words[i / 32] |= 0x80000000U >> (i % 32);
  }
  return used;
}

}  // namespace splitnic::fabric
