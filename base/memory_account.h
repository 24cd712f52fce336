// The memory that a program uses for one of its peers, and the limit of it. Code that allocates for
// a peer takes the bytes from the account first, by a MemoryCharge, which returns them when it
// ends. Only numbers: it allocates nothing. Thread: one owner, the data thread. [M-1]
#pragma once

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace splitnic::base {

class MemoryAccount {
 public:
  // `limit` in bytes.
  explicit MemoryAccount(std::uint64_t limit) : limit_(limit) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // Returns false, takes nothing and counts a refusal if the limit would be exceeded.
  bool take(std::uint64_t bytes) {
    if (used_ > limit_ || bytes > limit_ - used_) {
      ++refusals_;
      return false;
    }
    used_ += bytes;
    return true;
  }
  // REQUIRES that they were taken.
  void give(std::uint64_t bytes) {
    CHECK(bytes <= used_);
    used_ -= bytes;
  }
  // Bytes in use stay, even if they are more.
  void set_limit(std::uint64_t limit) { limit_ = limit; }

  std::uint64_t used() const { return used_; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t refusals() const { return refusals_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t refusals_ = 0;
};

// The error of an allocation that an account refused.
inline Error account_error() {
  return Error("the limit of memory of this peer is reached", ENOMEM);
}

// Bytes that were taken from an account, which outlives this. Without an account all are granted.
class MemoryCharge {
 public:
  explicit MemoryCharge(MemoryAccount* account = nullptr) : account_(account) {}
  ~MemoryCharge() { reset(); }
  MemoryCharge(MemoryCharge&& other) noexcept
      : account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    if (this == &other) return *this;
    reset();
    account_ = other.account_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  // Takes more bytes. Returns false, and takes none, if the account refuses them.
  [[nodiscard]] bool add(std::uint64_t bytes) {
    if (account_ != nullptr && !account_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  // REQUIRES bytes <= this->bytes().
  void give(std::uint64_t bytes) {
    CHECK(bytes <= bytes_);
    bytes_ -= bytes;
    if (account_ != nullptr) account_->give(bytes);
  }
  void reset() { give(bytes_); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryAccount* account_;
  std::uint64_t bytes_ = 0;
};

}  // namespace splitnic::base
