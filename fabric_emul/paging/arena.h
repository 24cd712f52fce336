// The real memory of an emulated node: page frames of one size in a memory file. A frame that is
// returned is freed in the kernel too, and holds zeros when it is taken again: nobody sees what
// another left there. One thread owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace splitnic::fabric {

class Arena {
 public:
  // REQUIRES: a page size of fabric_emul/mem/att.h. Fails if the kernel gives no memory file or no
  // mapping.
  static base::Result<std::unique_ptr<Arena>> make(std::size_t frames, std::uint8_t page_log2);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // A frame of zeros; nullptr when all are taken.
  std::byte* take() noexcept;
  // REQUIRES: a frame that is taken. Nothing may point there any more.
  void release(std::byte* frame) noexcept;
  // Whether it is the beginning of a frame that is taken.
  bool is_taken(const std::byte* frame) const noexcept;

  // Frames by number, 0 to frames() - 1. REQUIRES such a number; the beginning of a frame.
  std::byte* frame(std::size_t number) const noexcept {
    return memory_.data() + (number << page_log2_);
  }
  std::size_t number_of(const std::byte* frame) const noexcept {
    return static_cast<std::size_t>(frame - memory_.data()) >> page_log2_;
  }

  std::size_t frames() const { return taken_.size(); }
  std::size_t free_frames() const { return free_.size(); }
  std::size_t frame_bytes() const { return std::size_t{1} << page_log2_; }
  std::uint8_t page_log2() const { return page_log2_; }
  // Memory that the kernel holds for it.
  std::uint64_t resident_bytes() const;

 private:
  Arena(base::UniqueFd file, base::MutableBytes memory, std::uint8_t page_log2);

  base::UniqueFd file_;
  base::MutableBytes memory_;
  std::vector<bool> taken_;
  std::vector<std::byte*> free_;  // the last returned is the first taken
  std::uint8_t page_log2_;
};

}  // namespace splitnic::fabric
