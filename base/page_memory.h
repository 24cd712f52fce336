// Zeroed memory in whole pages of the machine. A page uses no physical memory until it is first
// touched, nor after it was released: it then reads as zeros. One owner; the address never changes.
//
// kHuge requests huge pages, where the system has them and the memory fills one, so that copies of
// large frames miss the TLB less often. The first touch then uses the whole huge page; memory that
// was released in part has small pages from then on.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace splitnic::base {

class PageMemory {
 public:
  enum class Pages { kSmall, kHuge };

  // CHECKs that there is address space; REQUIRES bytes > 0.
  explicit PageMemory(std::size_t bytes, Pages pages = Pages::kSmall);
  ~PageMemory();
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  std::byte* get() const { return begin_; }
  std::size_t size() const { return bytes_; }
  MutableBytes span() const { return {begin_, bytes_}; }
  // Frees the pages that lie whole in [offset, offset + bytes), and their content; returns their
  // bytes.
  std::size_t release(std::size_t offset, std::size_t bytes);

  static std::size_t page_bytes();

 private:
  static constexpr std::size_t kHugeBytes = 2 << 20;

  std::byte* begin_;
  std::size_t bytes_;
  bool is_huge_;
};

}  // namespace splitnic::base
