// Pools by reference: an array for the 256 references that idata can name (one load per frame), and
// an ordered map that owns all pools. Pools do not move in memory. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "messaging/wire/idata.h"
#include "messaging/wire/message_header.h"

namespace splitnic::messaging {

template <typename Pool>
class PoolTable {
 public:
  std::size_t size() const { return pools_.size(); }
  Pool* find(PoolRef ref) {
    if (ref.value < kIdataPools) return small_[ref.value];
    const auto at = pools_.find(ref);
    return at == pools_.end() ? nullptr : at->second.get();
  }
  const Pool* find(PoolRef ref) const { return const_cast<PoolTable*>(this)->find(ref); }
  // REQUIRES find(ref) == nullptr.
  Pool& insert(PoolRef ref, std::unique_ptr<Pool> pool) {
    const auto [at, inserted] = pools_.emplace(ref, std::move(pool));
    CHECK(inserted);
    if (ref.value < kIdataPools) small_[ref.value] = at->second.get();
    return *at->second;
  }
  void erase(PoolRef ref) {
    if (ref.value < kIdataPools) small_[ref.value] = nullptr;
    pools_.erase(ref);
  }
  // Calls visitor(Pool&) in the order of references; it may not insert or erase.
  template <typename Visitor>
  void visit(Visitor visitor) {
    for (auto& [ref, pool] : pools_) visitor(*pool);
  }
  template <typename Visitor>
  void visit(Visitor visitor) const {
    for (const auto& [ref, pool] : pools_) visitor(std::as_const(*pool));
  }
  // Erases every pool for which `condition(Pool&)` holds.
  template <typename Condition>
  void erase_if(Condition condition) {
    std::erase_if(pools_, [&](const auto& entry) {
      if (!condition(*entry.second)) return false;
      if (entry.first.value < kIdataPools) small_[entry.first.value] = nullptr;
      return true;
    });
  }

 private:
  std::map<PoolRef, std::unique_ptr<Pool>> pools_;
  std::array<Pool*, kIdataPools> small_{};
};

}  // namespace splitnic::messaging
