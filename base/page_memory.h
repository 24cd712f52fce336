// Zeroed memory in whole pages of the machine. A page uses no physical memory until it is first
// touched, nor after it was released: it then reads as zeros. One owner; the address never changes,
// also when the owner moves it.
//
// kHuge requests huge pages, where the system has them and the memory fills one, so that copies of
// large frames miss the TLB less often. The first touch then uses the whole huge page; memory that
// was released in part has small pages from then on.
#pragma once

#include <cstddef>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"

namespace splitnic::base {

class PageMemory {
 public:
  enum class Pages { kSmall, kHuge };

  // An error, ENOMEM: the system has none. REQUIRES bytes > 0.
  static Result<PageMemory> make(std::size_t bytes, Pages pages = Pages::kSmall);
  // The same at the start of a program: throws std::bad_alloc if there is none.
  explicit PageMemory(std::size_t bytes, Pages pages = Pages::kSmall);
  PageMemory() = default;  // none, of 0 bytes
  ~PageMemory() { unmap(); }
  PageMemory(PageMemory&& other) noexcept { swap(other); }
  PageMemory& operator=(PageMemory&& other) noexcept {
    if (this == &other) return *this;
    unmap();
    swap(other);
    return *this;
  }

  std::byte* get() const { return begin_; }
  std::size_t size() const { return bytes_; }
  MutableBytes span() const { return {begin_, bytes_}; }
  // Frees the pages that lie whole in [offset, offset + bytes), and their content; returns their
  // bytes.
  std::size_t release(std::size_t offset, std::size_t bytes);

  static std::size_t page_bytes();

 private:
  static constexpr std::size_t kHugeBytes = 2 << 20;

  void unmap();
  void swap(PageMemory& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    std::swap(is_huge_, other.is_huge_);
  }

  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  bool is_huge_ = false;
};

}  // namespace splitnic::base
