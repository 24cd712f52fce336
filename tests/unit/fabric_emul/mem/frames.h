// Page frames for the tests: real ones in one aligned buffer, and far ones that are only addresses.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace splitnic::fabric::frames {

inline constexpr std::size_t kFrameOverheadBytes = 4096;

// `count` frames of 4 KiB, filled with bytes that differ between neighbours.
class Frames {
 public:
  explicit Frames(std::size_t count)
      : memory_(static_cast<std::byte*>(
                    std::aligned_alloc(kFrameOverheadBytes, count * kFrameOverheadBytes)),
                std::free),
        bytes_(count * kFrameOverheadBytes) {
    for (std::size_t i = 0; i < bytes_; ++i) {
      memory_[i] = static_cast<std::byte>(i * 31 + i / kFrameOverheadBytes);
    }
  }
  std::byte* at(std::size_t frame) const { return memory_.get() + frame * kFrameOverheadBytes; }
  base::MutableBytes all() const { return {memory_.get(), bytes_}; }
  std::vector<std::byte> copy() const { return {all().begin(), all().end()}; }
  std::vector<std::byte*> pages(std::initializer_list<std::size_t> order) const {
    std::vector<std::byte*> list;
    for (const std::size_t frame : order) list.push_back(at(frame));
    return list;
  }

 private:
  std::unique_ptr<std::byte[], void (*)(void*)> memory_;
  std::size_t bytes_;
};

// Page `number` of a real memory that nobody has: for translation alone, never touched.
inline std::byte* far_page(std::uint64_t number, std::uint8_t log2) {
  return reinterpret_cast<std::byte*>((std::uint64_t{1} << 40) + (number << log2));
}

}  // namespace splitnic::fabric::frames
