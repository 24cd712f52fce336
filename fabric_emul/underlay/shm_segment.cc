#include "fabric_emul/underlay/shm_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <new>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

constexpr std::size_t kControlBytes = 4096;
static_assert(2 * sizeof(ShmRingControl) <= kControlBytes);
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

std::size_t ShmSegment::bytes_for(std::size_t ring_bytes) { return kControlBytes + 2 * ring_bytes; }

base::Result<base::UniqueFd> ShmSegment::make(std::size_t ring_bytes) {
  base::UniqueFd fd(::memfd_create("splitnic-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return base::Error::from_errno("making shared memory", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes_for(ring_bytes))) != 0) {
    return base::Error::from_errno("sizing shared memory", errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
    return base::Error::from_errno("sealing shared memory", errno);
  }
  return fd;
}

base::Result<std::unique_ptr<ShmSegment>> ShmSegment::map(int fd, std::size_t ring_bytes) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return base::Error("the shared memory is not sealed against shrinking");
  }
  struct stat found {};
  const std::size_t bytes = bytes_for(ring_bytes);
  if (::fstat(fd, &found) != 0 || found.st_size != static_cast<off_t>(bytes)) {
    return base::Error("the shared memory has not the length that was agreed on");
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return base::Error::from_errno("mapping shared memory", errno);
  return std::unique_ptr<ShmSegment>(new ShmSegment(memory, ring_bytes));
}

ShmSegment::~ShmSegment() { ::munmap(memory_, bytes_for(ring_bytes_)); }

ShmRingControl& ShmSegment::control(std::size_t which) {
  CHECK(which < 2);
  return *std::launder(reinterpret_cast<ShmRingControl*>(memory_ + which * sizeof(ShmRingControl)));
}

base::MutableBytes ShmSegment::bytes(std::size_t which) {
  CHECK(which < 2);
  return {memory_ + kControlBytes + which * ring_bytes_, ring_bytes_};
}

}  // namespace splitnic::fabric
