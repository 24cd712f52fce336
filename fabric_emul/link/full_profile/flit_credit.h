// Flit credits of one lane: absolute limits in blocks of 64 bytes since INIT, modulo 2^24, so that
// a lost or repeated announcement is harmless. docs/protocol/flit.md#full-profile
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

constexpr std::uint32_t blocks_of(std::size_t payload_bytes) {
  return static_cast<std::uint32_t>((payload_bytes + kCreditBlockBytes - 1) / kCreditBlockBytes);
}
// Half of the number space: a number that is further ahead counts as behind.
inline constexpr std::uint32_t kCreditHalf = (kCreditMask + 1) / 2;

// The sender's side.
class CreditGate {
 public:
  void start(std::uint32_t limit) {
    limit_ = limit & kCreditMask;
    sent_ = 0;
  }
  bool may_send(std::uint32_t blocks) const {
    const std::uint32_t left = (limit_ - sent_) & kCreditMask;
    return left >= blocks && left < kCreditHalf;
  }
  void consume(std::uint32_t blocks) { sent_ = (sent_ + blocks) & kCreditMask; }
  // Returns false if the limit is older than the one in use: it is ignored.
  bool on_limit(std::uint32_t limit) {
    if (((limit - limit_) & kCreditMask) >= kCreditHalf) return false;
    limit_ = limit & kCreditMask;
    return true;
  }
  std::uint32_t left() const { return (limit_ - sent_) & kCreditMask; }

 private:
  std::uint32_t limit_ = 0;
  std::uint32_t sent_ = 0;
};

// The receiver's side: grants its buffer, and more as blocks are released.
class CreditGrant {
 public:
  void start(std::uint32_t buffer_blocks) { limit_ = buffer_blocks & kCreditMask; }
  void release(std::uint32_t blocks) { limit_ = (limit_ + blocks) & kCreditMask; }
  std::uint32_t limit() const { return limit_; }

 private:
  std::uint32_t limit_ = 0;
};

}  // namespace splitnic::fabric
