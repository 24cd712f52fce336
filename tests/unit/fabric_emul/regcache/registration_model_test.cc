// Random operations on the cache against a plain model: who uses which memory, and which memory was
// invalidated. After each step the table, the kernel and the entries must agree with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/unit/fabric_emul/regcache/registration_fixture.h"

namespace splitnic::fabric {
namespace registration_model_test {

using namespace registration_fixture;
using fabric::AccessKind;
using fabric::MemoryHandle;

constexpr CacheLimits kLimits{.entries = 6, .bytes = 12 * kPage};

class RegistrationModel : public RegistrationTest {
 protected:
  RegistrationModel() : RegistrationTest(kLimits, 40) {}

  // One use, from a registration that succeeded to its deregistration.
  struct Use {
    MemoryHandle handle;
    base::MutableBytes memory;
    fabric::VirtualAddress start;
    std::uint8_t rights;
    fabric::PdId pd;
    OwnerId owner;
    bool is_stopped = false;
  };

  base::MutableBytes any_memory() {
    const std::size_t bytes = 1 + dice_.below(dice_.below(20) == 0 ? 20 * kPage : 4 * kPage);
    const std::size_t offset =
        dice_.below(4) == 0 ? dice_.below(kPages) * kPage : dice_.below(kPages * kPage);
    return at(std::min(offset, kPages * kPage - bytes), bytes);
  }
  // Often what was wanted lately, or its end.
  base::MutableBytes wanted_memory() {
    base::MutableBytes& one = lately_[dice_.below(lately_.size())];
    if (one.empty() || dice_.below(4) == 0) one = any_memory();
    return dice_.below(3) == 0 ? one.subspan(dice_.below(one.size())) : one;
  }
  std::uint8_t any_rights() {
    const auto local = static_cast<std::uint8_t>(1 + dice_.below(3));
    return dice_.below(8) == 0 ? local | fabric::kRemoteWrite : local;
  }
  static bool overlap(base::Bytes a, base::Bytes b) {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
  }
  static bool is_within(base::Bytes inner, base::Bytes outer) {
    return inner.data() >= outer.data() &&
           inner.data() + inner.size() <= outer.data() + outer.size();
  }
  bool is_dead(const Registration& entry) const { return dead_.contains(entry.handle); }
  bool has_idle() const {
    const auto all = entries();
    return std::ranges::any_of(
        all, [this](const Registration& e) { return e.users == 0 && !is_dead(e); });
  }
  // Whether an entry serves the request, by the rules of the header.
  bool must_hit(const Use& use, bool is_placed) const {
    const auto all = entries();
    return std::ranges::any_of(all, [&](const Registration& e) {
      const bool fits = e.is_placed ? e.start == cache_.own_start(e.memory)
                                    : e.memory.data() == use.memory.data();
      return e.status == RegistrationStatus::kCached && !is_dead(e) && e.is_placed == is_placed &&
             fits && e.owner == use.owner && e.pd == use.pd && is_within(use.memory, e.memory) &&
             (use.rights & ~e.rights) == 0 && (use.rights & fabric::kRemoteWrite) == 0;
    });
  }

  void register_one() {
    Use use;
    use.memory = wanted_memory();
    use.rights = any_rights();
    use.pd = dice_.below(8) == 0 ? kOtherPd : kPd;
    use.owner = OwnerId(dice_.below(2));
    const bool is_placed = dice_.below(4) != 0;
    const auto start = is_placed ? std::optional(cache_.own_start(use.memory)) : std::nullopt;
    const bool hits = must_hit(use, is_placed);
    const bool is_full = table_.live_count() == table_.entries_max() && !has_idle();
    fulls_ += is_full ? 1U : 0U;
    kernel_.refuses = dice_.below(20) == 0;
    const std::uint64_t calls = kernel_.calls;
    const std::uint64_t registered = count(RegCounter::kRegistered);

    const auto handle = cache_.register_region(use.pd, use.memory, use.rights, start, use.owner);
    const bool may_fail = !hits && (!exists(use.memory) || kernel_.refuses || is_full);
    ASSERT_EQ(handle.has_value(), !may_fail) << (handle ? "" : handle.error().text());
    ASSERT_EQ(count(RegCounter::kRegistered) - registered, hits || may_fail ? 0U : 1U);
    if (hits) {
      ASSERT_EQ(kernel_.calls, calls);
    }
    kernel_.refuses = false;
    if (!handle) return;
    use.handle = *handle;
    use.start = start.value_or(table_.start_of(*handle));
    used_.push_back(use);
  }

  void deregister_one() {
    if (used_.empty()) return;
    const std::size_t i = dice_.below(used_.size());
    ASSERT_TRUE(cache_.deregister(used_[i].handle));
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // Memory goes, with invalidate(); what lies where it was comes at the next call.
  void invalidate_one() {
    const auto memory = any_memory();
    const auto hurt = entries();
    cache_.invalidate(memory);
    for (const Registration& entry : hurt) {
      if (!overlap(entry.memory, memory)) continue;
      for (Use& use : used_) use.is_stopped |= use.handle == entry.handle;
    }
    gone_ = dice_.below(2) == 0 ? base::Bytes(memory) : base::Bytes();
  }

  void flush_one() {
    if (used_.empty()) return;
    const MemoryHandle handle = used_[dice_.below(used_.size())].handle;
    ASSERT_EQ(cache_.flush(handle).has_value(), true);
    std::erase_if(used_, [&](const Use& use) { return use.handle == handle; });
  }

  // The table ends a region without the cache.
  void end_one_behind_its_back() {
    const auto all = entries();
    if (all.empty()) return;
    const Registration& entry = all[dice_.below(all.size())];
    if (is_dead(entry)) return;
    ASSERT_TRUE(table_.regions().deregister(entry.handle));
    dead_.insert(entry.handle);
    for (Use& use : used_) use.is_stopped |= use.handle == entry.handle;
  }

  void collect_one() {
    const OwnerId owner(dice_.below(2));
    cache_.collect([&](const Registration& entry) { return entry.owner == owner; });
    for (const Registration& entry : entries()) {
      ASSERT_TRUE(entry.owner != owner || entry.status != RegistrationStatus::kCached);
    }
  }

  bool reaches(const Use& use, AccessKind kind) const {
    const auto found =
        table_.access(use.handle, use.start, use.memory.size(), kind, use.pd, fabric::Qpn{1});
    return found.ok() && found.at == use.memory.data();
  }
  void check_uses() const {
    for (const Use& use : used_) {
      for (const AccessKind kind :
           {AccessKind::kLocalRead, AccessKind::kLocalWrite, AccessKind::kRemoteWrite}) {
        const bool wanted = (use.rights & fabric::right_for(kind)) != 0;
        if (use.is_stopped || wanted) {
          ASSERT_EQ(reaches(use, kind), !use.is_stopped);
        } else if (fabric::is_remote(kind)) {
          ASSERT_FALSE(reaches(use, kind)) << "a peer reaches what is local";
        }
      }
    }
  }
  void check_entries() const {
    const auto all = entries();
    std::size_t live = 0;
    std::size_t cached = 0;
    std::uint64_t bytes = 0;
    for (const Registration& entry : all) {
      live += is_dead(entry) ? 0 : 1;
      ASSERT_EQ(entry.users, std::ranges::count(used_, entry.handle, &Use::handle));
      if (entry.status != RegistrationStatus::kCached) continue;
      ++cached;
      bytes += entry.memory.size();
      ASSERT_FALSE(overlap(entry.memory, gone_));
      for (const Registration& other : all) {
        if (other.number == entry.number || other.status != entry.status) continue;
        const bool same_group = other.owner == entry.owner && other.pd == entry.pd &&
                                other.is_placed && entry.is_placed;
        ASSERT_FALSE(same_group && overlap(entry.memory, other.memory));
      }
    }
    ASSERT_EQ(table_.live_count(), live);
    ASSERT_EQ(cache_.cached_bytes(), bytes);
    ASSERT_TRUE((cached <= kLimits.entries && bytes <= kLimits.bytes) ||
                std::ranges::none_of(all, [](const Registration& e) {
                  return e.users == 0 && e.status == RegistrationStatus::kCached;
                }));
  }

  std::vector<Use> used_;
  std::array<base::MutableBytes, 4> lately_{};
  std::size_t fulls_ = 0;        // requests while the table had no room
  std::set<MemoryHandle> dead_;  // ended at the table
  base::SeededRandom dice_{20261121};
};

TEST_F(RegistrationModel, M_13_a_hundred_thousand_random_steps) {
  for (int step = 0; step < 100'000; ++step) {
    SCOPED_TRACE(step);
    const std::uint64_t dice = dice_.below(1000);
    if (dice < 480) {
      register_one();
    } else if (dice < 920) {
      deregister_one();
    } else if (dice < 960) {
      invalidate_one();
    } else if (dice < 980) {
      flush_one();
    } else if (dice < 990) {
      end_one_behind_its_back();
    } else {
      collect_one();
    }
    check_uses();
    check_entries();
    if (step % 16 == 0) {
      ASSERT_EQ(kernel_.locked, wanted_pages());
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(count(RegCounter::kHit), 3000U);
  EXPECT_GT(fulls_, 100U);
  EXPECT_GT(count(RegCounter::kMerged), 1000U);
  EXPECT_GT(count(RegCounter::kEvicted), 1000U);
  EXPECT_GT(count(RegCounter::kDead), 10U);
  EXPECT_GT(count(RegCounter::kInvalidated), 1000U);
  EXPECT_EQ(count(RegCounter::kKernelEntry), kernel_.calls);
  while (!used_.empty()) deregister_one();
  cache_.flush_all();
  EXPECT_EQ(cache_.size(), 0U);
  EXPECT_EQ(table_.live_count(), 0U);
  EXPECT_TRUE(kernel_.locked.empty());
}

}  // namespace registration_model_test
}  // namespace splitnic::fabric
