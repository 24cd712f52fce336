// 32 secret bytes: a private key, a pre-shared key or a key of records. The memory is overwritten
// when a secret ends or is moved from, so that neither a core file nor reused memory shows it.
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"

namespace splitnic::fabric::session {

inline constexpr std::size_t kKeyBytes = 32;
using Bytes32 = std::array<std::byte, kKeyBytes>;

// Overwrites memory in a way that the compiler keeps.
void cleanse(base::MutableBytes bytes);

class Secret {
 public:
  Secret() = default;  // all zero
  explicit Secret(const Bytes32& bytes) : bytes_(bytes) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  Secret(Secret&& other) noexcept : bytes_(other.bytes_) { cleanse(other.bytes_); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      bytes_ = other.bytes_;
      cleanse(other.bytes_);
    }
    return *this;
  }
  ~Secret() { cleanse(bytes_); }

  const Bytes32& bytes() const { return bytes_; }
  // For the function that fills it.
  Bytes32& mutable_bytes() { return bytes_; }

 private:
  Bytes32 bytes_{};
};

}  // namespace splitnic::fabric::session
