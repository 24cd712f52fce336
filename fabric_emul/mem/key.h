// Keys: Tag_Index (31..8) selects the entry, Tag_Instance (7..0) must equal the one stored there
// [S002-03]. L_Key, R_Key and memory handle are the same 32 bits [S004-06].
//
// A handle is the key after a block cipher of 32 bits: bijective, so it costs no table and loses
// nothing, and who knows some handles and their keys learns nothing of others [L-5]. Its own key is
// drawn once per adapter. It hides the order of keys; protection itself rests on the checks of
// access_check.h.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
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

// Speck32/64 (Beaulieu et al. 2013): 22 rounds over two words of 16 bits, with a key of 64 bits.
class KeyPermutation {
 public:
  // The identity: golden bytes and tests only.
  constexpr KeyPermutation() = default;
  explicit KeyPermutation(base::Random& random) : KeyPermutation(random.next()) {}
  // With this key, its words from the highest to the lowest as in the paper.
  constexpr explicit KeyPermutation(std::uint64_t key) : is_identity_(false) {
    auto k = static_cast<std::uint16_t>(key);
    std::array<std::uint16_t, 3> l{static_cast<std::uint16_t>(key >> 16),
                                   static_cast<std::uint16_t>(key >> 32),
                                   static_cast<std::uint16_t>(key >> 48)};
    for (std::size_t i = 0; i < kRounds; ++i) {
      round_keys_[i] = k;
      Words next{l[i % l.size()], k};
      next = forward(next, static_cast<std::uint16_t>(i));
      l[i % l.size()] = next.x;
      k = next.y;
    }
  }

  constexpr MemoryHandle to_handle(Key key) const {
    if (is_identity_) return MemoryHandle(key.bits());
    Words words = split(key.bits());
    for (const std::uint16_t round_key : round_keys_) words = forward(words, round_key);
    return MemoryHandle(join(words));
  }
  constexpr Key to_key(MemoryHandle handle) const {
    if (is_identity_) return Key::parse(handle.value);
    Words words = split(handle.value);
    for (auto round_key = round_keys_.rbegin(); round_key != round_keys_.rend(); ++round_key) {
      words = backward(words, *round_key);
    }
    return Key::parse(join(words));
  }

 private:
  static constexpr std::size_t kRounds = 22;
  struct Words {
    std::uint16_t x = 0, y = 0;
  };
  static constexpr Words split(std::uint32_t bits) {
    return {static_cast<std::uint16_t>(bits >> 16), static_cast<std::uint16_t>(bits)};
  }
  static constexpr std::uint32_t join(Words w) { return std::uint32_t{w.x} << 16 | w.y; }
  static constexpr Words forward(Words w, std::uint16_t round_key) {
    const auto sum = static_cast<std::uint16_t>(std::rotr(w.x, 7) + w.y);
    const auto x = static_cast<std::uint16_t>(sum ^ round_key);
    return {x, static_cast<std::uint16_t>(std::rotl(w.y, 2) ^ x)};
  }
  static constexpr Words backward(Words w, std::uint16_t round_key) {
    const auto y = std::rotr(static_cast<std::uint16_t>(w.x ^ w.y), 2);
    const auto difference = static_cast<std::uint16_t>((w.x ^ round_key) - y);
    return {std::rotl(difference, 7), y};
  }

  std::array<std::uint16_t, kRounds> round_keys_{};
  bool is_identity_ = true;
};

}  // namespace splitnic::fabric
