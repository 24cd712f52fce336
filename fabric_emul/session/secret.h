// 32 secret bytes: a private key, a pre-shared key or a key of records. The memory is overwritten
// when a secret ends or is moved from. After lock_secrets() it is in locked pages, which are
// neither swapped out nor part of a core file. Thread: one owner each.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"

namespace splitnic::fabric::session {

inline constexpr std::size_t kKeyBytes = 32;
using Bytes32 = std::array<std::byte, kKeyBytes>;

// Overwrites memory in a way that the compiler keeps.
void cleanse(base::MutableBytes bytes);

// Locks memory for the secrets of this process, also for those inside of libcrypto, of which it
// keeps half. Secrets that exist already, and more than 4096 at once, are in other memory. For main
// threads, once at the start; later calls do nothing. An error: there are none, or they are not
// locked, because of the limit of locked memory; secrets work all the same.
base::Status lock_secrets();

class Secret {
 public:
  Secret();  // all zero
  explicit Secret(const Bytes32& bytes) : Secret() { *bytes_ = bytes; }
  Secret(const Secret& other) : Secret(other.bytes()) {}
  Secret& operator=(const Secret& other) {
    *bytes_ = other.bytes();
    return *this;
  }
  Secret(Secret&& other) noexcept : Secret() { swap(other); }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    cleanse(*bytes_);
    swap(other);
    return *this;
  }
  ~Secret() = default;

  const Bytes32& bytes() const { return *bytes_; }
  // For the function that fills it.
  Bytes32& mutable_bytes() { return *bytes_; }

 private:
  struct Freer {
    void operator()(Bytes32* bytes) const;  // overwrites it
  };
  void swap(Secret& other) { bytes_.swap(other.bytes_); }

  std::unique_ptr<Bytes32, Freer> bytes_;  // never null
};

}  // namespace splitnic::fabric::session
