#include "base/page_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <string>

#include "base/check.h"

namespace splitnic::base {

std::size_t PageMemory::page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

PageMemory::PageMemory(std::size_t bytes, Pages pages) {
  auto made = make(bytes, pages);
  if (!made) throw std::bad_alloc();
  swap(*made);
}

Result<PageMemory> PageMemory::make(std::size_t bytes, Pages pages) {
  CHECK(bytes > 0);
  PageMemory made;
  made.is_huge_ = pages == Pages::kHuge && bytes >= kHugeBytes;
  const std::size_t spare =
      made.is_huge_ ? kHugeBytes : 0;  // a huge page begins at a multiple of its size
  void* at =
      ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return Error::from_errno("no memory for " + std::to_string(bytes) + " bytes", errno);
  }
  made.begin_ = static_cast<std::byte*>(at);
  made.bytes_ = bytes;
  if (!made.is_huge_) return made;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::size_t before = round_up(address, kHugeBytes) - address;
  const std::size_t used = round_up(bytes, page_bytes());
  made.begin_ += before;
  if (before > 0) ::munmap(at, before);
  if (before + used < bytes + spare) ::munmap(made.begin_ + used, bytes + spare - before - used);
  ::madvise(made.begin_, bytes, MADV_HUGEPAGE);  // a system without them uses small ones
  return made;
}

void PageMemory::unmap() {
  if (begin_ != nullptr) ::munmap(begin_, bytes_);
  begin_ = nullptr;
  bytes_ = 0;
}

std::size_t PageMemory::release(std::size_t offset, std::size_t bytes) {
  CHECK(offset <= bytes_ && bytes <= bytes_ - offset);
  const std::size_t page = page_bytes();
  const std::size_t begin = round_up(offset, page);
  // The last page is released whole, even if our memory ends inside it.
  const std::size_t behind = offset + bytes;
  const std::size_t end = behind == bytes_ ? behind : behind / page * page;
  if (end <= begin) return 0;
  // Otherwise the kernel would make the rest a huge page again.
  if (is_huge_) ::madvise(begin_, bytes_, MADV_NOHUGEPAGE);
  is_huge_ = false;
  CHECK(::madvise(begin_ + begin, end - begin, MADV_DONTNEED) == 0);
  return end - begin;
}

}  // namespace splitnic::base
