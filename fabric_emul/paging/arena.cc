#include "fabric_emul/paging/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "fabric_emul/mem/att.h"

namespace splitnic::fabric {

base::Result<std::unique_ptr<Arena>> Arena::make(std::size_t frames, std::uint8_t page_log2) {
  CHECK(is_page_size(page_log2));
  if (frames == 0) return base::Error("making a memory arena: it has no frames");
  const std::size_t bytes = frames << page_log2;
  if (bytes >> page_log2 != frames || static_cast<off_t>(bytes) < 0) {
    return base::Error("making a memory arena: more frames than a file holds");
  }
  base::UniqueFd file(::memfd_create("splitnic-arena", MFD_CLOEXEC));
  if (!file.valid()) return base::Error::from_errno("making a memory file", errno);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return base::Error::from_errno("sizing a memory file", errno);
  }
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return base::Error::from_errno("mapping a memory file", errno);
  return std::unique_ptr<Arena>(
      new Arena(std::move(file), {static_cast<std::byte*>(at), bytes}, page_log2));
}

Arena::Arena(base::UniqueFd file, base::MutableBytes memory, std::uint8_t page_log2)
    : file_(std::move(file)),
      memory_(memory),
      taken_(memory.size() >> page_log2),
      page_log2_(page_log2) {
  free_.reserve(frames());
  for (std::size_t i = frames(); i-- > 0;) free_.push_back(memory_.data() + (i << page_log2_));
}

Arena::~Arena() { ::munmap(memory_.data(), memory_.size()); }

std::byte* Arena::take() noexcept {
  if (free_.empty()) return nullptr;
  std::byte* const frame = free_.back();
  free_.pop_back();
  taken_[static_cast<std::size_t>(frame - memory_.data()) >> page_log2_] = true;
  return frame;
}

void Arena::release(std::byte* frame) noexcept {
  CHECK(is_taken(frame));
  const auto offset = static_cast<std::size_t>(frame - memory_.data());
  const int punched = ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                  static_cast<off_t>(offset), static_cast<off_t>(frame_bytes()));
  // If the kernel cannot free it, it still must not show what was there.
  if (punched != 0) std::memset(frame, 0, frame_bytes());
  taken_[offset >> page_log2_] = false;
  free_.push_back(frame);
}

bool Arena::is_taken(const std::byte* frame) const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(frame);
  const auto base = reinterpret_cast<std::uintptr_t>(memory_.data());
  if (at < base || at - base >= memory_.size()) return false;
  const std::size_t offset = at - base;
  return (offset & (frame_bytes() - 1)) == 0 && taken_[offset >> page_log2_];
}

std::uint64_t Arena::resident_bytes() const {
  struct stat about {};
  CHECK(::fstat(file_.get(), &about) == 0);
  return static_cast<std::uint64_t>(about.st_blocks) * 512;
}

}  // namespace splitnic::fabric
