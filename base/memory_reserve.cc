#include "base/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "base/check.h"

namespace splitnic::base {
namespace {

std::atomic<std::size_t> reserve_bytes{0};  // 0: none was ever held
std::atomic<void*> reserve{nullptr};

void* map(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// operator new tries again when this returns.
void use_reserve() {
  void* const held = reserve.exchange(nullptr);
  if (held == nullptr) throw std::bad_alloc();
  ::munmap(held, reserve_bytes);
}

}  // namespace

void hold_memory_reserve(std::size_t bytes) {
  if (reserve_bytes != 0) return;
  CHECK(bytes > 0);
  reserve_bytes = bytes;
  reserve = map(bytes);
  std::set_new_handler(use_reserve);
}

bool is_memory_short() { return reserve_bytes != 0 && reserve == nullptr; }

bool restore_memory_reserve() {
  if (!is_memory_short()) return true;
  void* const held = map(reserve_bytes);
  if (held == nullptr) return false;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, held)) ::munmap(held, reserve_bytes);
  return true;
}

bool has_memory_for(std::size_t bytes) {
  void* const at = map(bytes);
  if (at == nullptr) return false;
  ::munmap(at, bytes);
  return true;
}

}  // namespace splitnic::base
