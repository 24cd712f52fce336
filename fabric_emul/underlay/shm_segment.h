// The memory of one shared-memory wire: a sealed memfd with two rings. The listening side creates
// it; the connecting side gets its descriptor and checks it before mapping: of the expected length,
// and sealed against shrinking, so that nobody can remove pages that are mapped (SIGBUS).
// Layout: control of ring 0 (listener puts), control of ring 1 (connector puts), page; bytes of
// ring 0; bytes of ring 1.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "fabric_emul/underlay/shm_ring.h"

namespace splitnic::fabric {

class ShmSegment {
 public:
  // Creates sealed anonymous memory of two rings of `ring_bytes`.
  static base::Result<base::UniqueFd> make(std::size_t ring_bytes);
  // Checks the memory and maps it. The descriptor may be closed afterwards.
  static base::Result<std::unique_ptr<ShmSegment>> map(int fd, std::size_t ring_bytes);
  static std::size_t bytes_for(std::size_t ring_bytes);

  ~ShmSegment();
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;

  // `which` 0 or 1.
  ShmRingControl& control(std::size_t which);
  base::MutableBytes bytes(std::size_t which);

 private:
  ShmSegment(void* memory, std::size_t ring_bytes)
      : memory_(static_cast<std::byte*>(memory)), ring_bytes_(ring_bytes) {}

  std::byte* memory_;
  std::size_t ring_bytes_;
};

}  // namespace splitnic::fabric
