#include "base/page_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

namespace splitnic::base {

std::size_t PageMemory::page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

PageMemory::PageMemory(std::size_t bytes) : bytes_(bytes) {
  CHECK(bytes > 0);
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(at != MAP_FAILED);
  begin_ = static_cast<std::byte*>(at);
}

PageMemory::~PageMemory() { ::munmap(begin_, bytes_); }

std::size_t PageMemory::give_back(std::size_t offset, std::size_t bytes) {
  CHECK(offset <= bytes_ && bytes <= bytes_ - offset);
  const std::size_t page = page_bytes();
  const std::size_t begin = round_up(offset, page);
  // The last page is whole though our part of it may not be.
  const std::size_t behind = offset + bytes;
  const std::size_t end = behind == bytes_ ? behind : behind / page * page;
  if (end <= begin) return 0;
  CHECK(::madvise(begin_ + begin, end - begin, MADV_DONTNEED) == 0);
  return end - begin;
}

}  // namespace splitnic::base
