#include "fabric_emul/paging/quiesce.h"

#include "base/check.h"

namespace splitnic::fabric {

bool CurrentIo::begin(std::uint32_t ios) noexcept {
  std::uint32_t seen = word_.load(std::memory_order_relaxed);
  do {
    if ((seen & kQuiesce) != 0 || ios > kCountMax - seen) return false;
  } while (!word_.compare_exchange_weak(seen, seen + ios, std::memory_order_acq_rel,
                                        std::memory_order_relaxed));
  return true;
}

bool CurrentIo::end() noexcept {
  const std::uint32_t before = word_.fetch_sub(1, std::memory_order_acq_rel);
  CHECK((before & kCountMax) != 0);
  return before == kQuiesce + 1;
}

bool CurrentIo::quiesce() noexcept {
  return (word_.fetch_or(kQuiesce, std::memory_order_acq_rel) & kCountMax) == 0;
}

void CurrentIo::reset() noexcept { word_.fetch_and(kCountMax, std::memory_order_acq_rel); }

}  // namespace splitnic::fabric
