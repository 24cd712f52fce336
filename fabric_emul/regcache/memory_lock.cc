#include "fabric_emul/regcache/memory_lock.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <vector>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

std::size_t page_bytes() {
  static const auto kBytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

// The pages that the memory lies in.
base::Bytes pages_of(base::Bytes memory) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page_bytes();
  return {memory.data() - before, base::round_up(before + memory.size(), page_bytes())};
}

// The system calls take memory that they do not change as if they did.
void* address_of(base::Bytes memory) { return const_cast<std::byte*>(memory.data()); }

}  // namespace

base::Status OsMemoryLock::lock(base::Bytes pages) {
  if (::mlock(pages.data(), pages.size()) == 0) return {};
  return base::Error::from_errno(
      "locking " + std::to_string(pages.size()) + " bytes of memory (is `ulimit -l` high enough?)",
      errno);
}

void OsMemoryLock::unlock(base::Bytes pages) {
  // It fails where the memory is gone, and with it the lock.
  static_cast<void>(::munlock(pages.data(), pages.size()));
}

bool memory_exists(base::Bytes memory) {
  std::array<unsigned char, 16384> residency{};
  base::Bytes rest = pages_of(memory);
  while (!rest.empty()) {
    const std::size_t bytes = std::min(rest.size(), residency.size() * page_bytes());
    if (::mincore(address_of(rest), bytes, residency.data()) != 0) return false;
    rest = rest.subspan(bytes);
  }
  return true;
}

base::Status LockedPages::lock(base::Bytes memory) {
  const base::Bytes pages = pages_of(memory);
  const auto first = split(pages.data());
  const auto last = split(pages.data() + pages.size());
  for (auto step = first; step != last; ++step) ++step->second;

  counters_.add(RegCounter::kKernelEntry);
  base::Status locked = kernel_.lock(pages);
  if (!locked) unlock(memory);  // the kernel may have locked a part
  return locked;
}

void LockedPages::unlock(base::Bytes memory) {
  const base::Bytes pages = pages_of(memory);
  const auto first = split(pages.data());
  const auto last = split(pages.data() + pages.size());
  std::vector<base::Bytes> unused;
  for (auto step = first; step != last; ++step) {
    CHECK(step->second > 0);
    if (--step->second > 0) continue;
    unused.emplace_back(step->first, std::next(step)->first);
  }
  // Steps that are none any more; what is before `first` has as many users as the step before it.
  std::uint32_t before = first == users_.begin() ? 0 : std::prev(first)->second;
  const auto behind = std::next(last);
  for (auto step = first; step != behind;) {
    const bool same = step->second == before;
    before = step->second;
    step = same ? users_.erase(step) : std::next(step);
  }
  for (const base::Bytes run : unused) {
    counters_.add(RegCounter::kKernelEntry);
    kernel_.unlock(run);
  }
}

// The step that begins at `at`, made if there is none.
LockedPages::Steps::iterator LockedPages::split(const std::byte* at) {
  const auto next = users_.upper_bound(at);
  const std::uint32_t users = next == users_.begin() ? 0 : std::prev(next)->second;
  return users_.try_emplace(at, users).first;
}

}  // namespace splitnic::fabric
