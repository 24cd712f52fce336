// Keys: Tag_Index (31..8) selects the entry, Tag_Instance (7..0) must equal the one stored there
// [S002-03]. L_Key, R_Key and memory handle are the same 32 bits [S004-06].
//
// A handle is the key after a keyed permutation of all 32-bit values: bijective, so it costs no
// table and loses nothing, and one handle reveals nothing about the next. The four round keys are
// drawn once per adapter. It hides the order of keys; protection itself rests on the checks of
// access_check.h.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

inline constexpr std::uint32_t kTagIndexReserved = 0xFFFFFF;
inline constexpr std::uint8_t kTagInstanceFirst = 1;  // so that key 0 is never valid
inline constexpr std::uint8_t kTagInstanceLast = 0xFF;

struct Key {
  std::uint32_t index = 0;  // 24 bits
  std::uint8_t instance = 0;

  static constexpr Key parse(std::uint32_t bits) {
    return {bits >> 8, static_cast<std::uint8_t>(bits & 0xFFU)};
  }
  constexpr std::uint32_t bits() const { return index << 8 | instance; }
  friend constexpr bool operator==(const Key&, const Key&) = default;
};

// A four-round Feistel network over two 16-bit halves.
class KeyPermutation {
 public:
  // The identity: golden bytes and tests only.
  constexpr KeyPermutation() = default;
  explicit KeyPermutation(base::Random& random) : is_identity_(false) {
    for (std::uint32_t& key : round_keys_) key = random.next32();
  }

  constexpr MemoryHandle to_handle(Key key) const {
    std::uint32_t left = key.bits() >> 16;
    std::uint32_t right = key.bits() & 0xFFFFU;
    if (is_identity_) return MemoryHandle(key.bits());
    for (std::uint32_t round_key : round_keys_) {
      const std::uint32_t next = left ^ mix(right, round_key);
      left = right;
      right = next;
    }
    return MemoryHandle(left << 16 | right);
  }
  constexpr Key to_key(MemoryHandle handle) const {
    if (is_identity_) return Key::parse(handle.value);
    std::uint32_t left = handle.value >> 16;
    std::uint32_t right = handle.value & 0xFFFFU;
    for (auto round_key = round_keys_.rbegin(); round_key != round_keys_.rend(); ++round_key) {
      const std::uint32_t previous = right ^ mix(left, *round_key);
      right = left;
      left = previous;
    }
    return Key::parse(left << 16 | right);
  }

 private:
  // 16 bits that depend on every bit of the half and of the round key.
  static constexpr std::uint32_t mix(std::uint32_t half, std::uint32_t round_key) {
    std::uint32_t x = half * 0x9E3779B1U + round_key;
    x = (x ^ x >> 15) * 0x85EBCA77U;
    x = (x ^ x >> 13) * 0xC2B2AE3DU;
    return x >> 16;
  }

  std::array<std::uint32_t, 4> round_keys_{};
  bool is_identity_ = true;
};

}  // namespace splitnic::fabric
