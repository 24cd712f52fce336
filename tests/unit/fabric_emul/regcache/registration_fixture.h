// A registration cache over a real table, a kernel that can be looked into, and 64 pages of memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "fabric_emul/regcache/registration_cache.h"
#include "fabric_emul/regcache/registration_gc.h"

namespace splitnic::fabric::registration_fixture {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kPages = 64;
inline constexpr fabric::PdId kPd{7};
inline constexpr fabric::PdId kOtherPd{8};
inline constexpr std::uint8_t kRead = fabric::kLocalRead;
inline constexpr std::uint8_t kWrite = fabric::kLocalWrite;
inline constexpr std::uint8_t kReadWrite = kRead | kWrite;

// As the kernel does it: a page is locked or not, however often it was asked for.
class FakeKernel final : public MemoryLock {
 public:
  base::Status lock(base::Bytes pages) override {
    ++calls;
    const auto call_hook = hook;
    if (call_hook) call_hook();
    // A refusal may come in the middle.
    const std::size_t bytes = refuses ? pages.size() / kPage / 2 * kPage : pages.size();
    for (std::size_t at = 0; at < bytes; at += kPage) locked.insert(pages.data() + at);
    if (refuses) return base::Error("locking memory: refused");
    return {};
  }
  void unlock(base::Bytes pages) override {
    ++calls;
    for (std::size_t at = 0; at < pages.size(); at += kPage) locked.erase(pages.data() + at);
    const auto call_hook = hook;
    if (call_hook) call_hook();
  }

  std::set<const std::byte*> locked;
  std::uint64_t calls = 0;
  bool refuses = false;
  std::function<void()> hook;  // called within each call
};

class RegistrationTest : public ::testing::Test {
 protected:
  explicit RegistrationTest(const CacheLimits& limits = {}, std::size_t table_entries = 4096)
      : table_(table_entries, random_),
        cache_(
            table_, kernel_,
            [this](base::Bytes memory) {
              ++exists_calls_;
              return exists(memory);
            },
            random_, limits) {
    cache_.set_time(clock_.now());
  }

  // `bytes` of the arena from `offset`.
  base::MutableBytes at(std::size_t offset, std::size_t bytes) {
    return base::MutableBytes(arena_->bytes).subspan(offset, bytes);
  }
  bool exists(base::Bytes memory) const {
    return gone_.empty() || memory.data() >= gone_.data() + gone_.size() ||
           memory.data() + memory.size() <= gone_.data();
  }
  // One use of memory that is shared, ended by put().
  base::Result<fabric::MemoryHandle> try_get(base::MutableBytes memory, std::uint8_t rights,
                                             fabric::PdId pd = kPd, OwnerId owner = {}) {
    return cache_.register_region(pd, memory, rights, cache_.own_start(memory), owner);
  }
  fabric::MemoryHandle get(base::MutableBytes memory, std::uint8_t rights = kReadWrite,
                           fabric::PdId pd = kPd, OwnerId owner = {}) {
    return try_get(memory, rights, pd, owner).value();
  }
  void put(fabric::MemoryHandle handle) { EXPECT_TRUE(cache_.deregister(handle)); }
  fabric::MemoryHandle get_put(base::MutableBytes memory, std::uint8_t rights = kReadWrite) {
    const fabric::MemoryHandle handle = get(memory, rights);
    put(handle);
    return handle;
  }
  // The letter of the check that refuses, 0 if the adapter reaches exactly this memory.
  char reach(fabric::MemoryHandle handle, base::MutableBytes memory,
             fabric::AccessKind kind = fabric::AccessKind::kLocalRead, fabric::PdId pd = kPd) {
    const fabric::AccessResult result =
        table_.access(handle, cache_.own_start(memory), memory.size(), kind, pd, fabric::Qpn{1});
    if (!result.ok()) return static_cast<char>(result.failed);
    return result.at == memory.data() ? '\0' : '?';
  }
  std::uint64_t count(RegCounter which) const { return cache_.counters()[which]; }
  std::vector<Registration> entries() const {
    std::vector<Registration> all;
    cache_.visit([&](const Registration& entry) { all.push_back(entry); });
    return all;
  }
  // Pages that the kernel must have locked.
  std::set<const std::byte*> wanted_pages() const {
    std::set<const std::byte*> pages;
    for (const Registration& entry : entries()) {
      if (!entry.is_locked) continue;
      const std::size_t before = reinterpret_cast<std::uintptr_t>(entry.memory.data()) % kPage;
      const std::byte* const first = entry.memory.data() - before;
      for (std::size_t i = 0; i < before + entry.memory.size(); i += kPage) pages.insert(first + i);
    }
    return pages;
  }

  struct alignas(kPage) Arena {
    std::array<std::byte, kPages * kPage> bytes{};
  };
  std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();
  base::Bytes gone_;  // of the arena: not mapped
  std::uint64_t exists_calls_ = 0;
  base::SeededRandom random_{42};
  base::ManualClock clock_;
  FakeKernel kernel_;
  fabric::Mrwt table_;
  RegistrationCache cache_;
};

}  // namespace splitnic::fabric::registration_fixture
