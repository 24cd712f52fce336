// The numbers by which peers name our keys and attempts in their datagrams: 32 random bits each, so
// that they show nothing. An Index is a number in use; it is free again when the Index ends.
// Thread: the data thread. An Index must not outlive its table.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/random.h"

namespace splitnic::fabric::session {

class Peer;

class IndexTable {
 public:
  class Index {
   public:
    Index() = default;
    Index(Index&& other) noexcept
        : table_(std::exchange(other.table_, nullptr)), value_(other.value_) {}
    Index& operator=(Index&& other) noexcept {
      if (this != &other) {
        release();
        table_ = std::exchange(other.table_, nullptr);
        value_ = other.value_;
      }
      return *this;
    }
    ~Index() { release(); }
    std::uint32_t value() const { return value_; }

   private:
    friend class IndexTable;
    Index(IndexTable& table, std::uint32_t value) : table_(&table), value_(value) {}
    void release() {
      if (table_ != nullptr) table_->peers_.erase(value_);
      table_ = nullptr;
    }
    IndexTable* table_ = nullptr;
    std::uint32_t value_ = 0;
  };

  explicit IndexTable(base::Random& random) : random_(random) {}
  IndexTable(const IndexTable&) = delete;
  IndexTable& operator=(const IndexTable&) = delete;

  Index draw(Peer& peer) {
    std::uint32_t value = random_.next32();
    while (!peers_.emplace(value, &peer).second) value = random_.next32();
    return {*this, value};
  }
  // Returns nullptr if the number is not in use.
  Peer* find(std::uint32_t value) const {
    const auto found = peers_.find(value);
    return found == peers_.end() ? nullptr : found->second;
  }

 private:
  base::Random& random_;
  std::unordered_map<std::uint32_t, Peer*> peers_;
};

}  // namespace splitnic::fabric::session
