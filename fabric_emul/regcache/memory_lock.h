// The kernel's part of a registration: memory is locked against swap while the adapter may use it.
// MemoryLock is the seam, one system call per call. The kernel does not count: one munlock undoes
// every mlock of a page, so LockedPages counts the users of each page and the entries into the
// kernel [S003-03]. Thread: the cache's.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "fabric_emul/regcache/registration_counters.h"

namespace splitnic::fabric {

class MemoryLock {
 public:
  virtual ~MemoryLock() = default;
  // Whole pages. Refused: no such memory, or more than the process may lock.
  virtual base::Status lock(base::Bytes pages) = 0;
  virtual void unlock(base::Bytes pages) = 0;
};

// mlock(2) and munlock(2).
class OsMemoryLock final : public MemoryLock {
 public:
  base::Status lock(base::Bytes pages) override;
  void unlock(base::Bytes pages) override;
};

// Whether all of it is mapped, asked of the kernel (mincore): 64 MiB a system call.
bool memory_exists(base::Bytes memory);

class LockedPages {
 public:
  LockedPages(MemoryLock& kernel, base::Counters<RegCounter>& counters)
      : kernel_(kernel), counters_(counters) {}

  // Locks the pages that `memory` lies in: one system call. Refused: nothing is locked by it.
  base::Status lock(base::Bytes memory);
  // Unlocks those of the pages that nobody else has locked.
  void unlock(base::Bytes memory);

 private:
  using Steps = std::map<const std::byte*, std::uint32_t>;
  Steps::iterator split(const std::byte* at);

  MemoryLock& kernel_;
  base::Counters<RegCounter>& counters_;
  Steps users_;  // how many have locked the pages from here to the next step
};

}  // namespace splitnic::fabric
