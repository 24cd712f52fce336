#include "base/own_user.h"

#include <unistd.h>

#include <atomic>

namespace splitnic::base {
namespace {

constexpr std::int64_t kNotKept = -1;
std::atomic<std::int64_t> kept{kNotKept};

}  // namespace

std::uint32_t own_user() {
  const std::int64_t user = kept.load(std::memory_order_relaxed);
  return user == kNotKept ? ::geteuid() : static_cast<std::uint32_t>(user);
}

void keep_own_user() { kept.store(::geteuid(), std::memory_order_relaxed); }

}  // namespace splitnic::base
