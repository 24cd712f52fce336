// The bytes of one input, read as the choices of a run: numbers, places in a list, some bytes.
// Behind the end every choice is 0, so each beginning of an input is an input too, and a shorter
// one is a simpler run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace splitnic::support {

class Input {
 public:
  explicit Input(base::Bytes bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t u8() {
    if (rest_.empty()) return 0;
    const auto value = std::to_integer<std::uint8_t>(rest_[0]);
    rest_ = rest_.subspan(1);
    return value;
  }
  std::uint16_t u16() {
    const unsigned high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  std::uint32_t u32() {
    const std::uint32_t high = u16();
    return high << 16 | u16();
  }
  std::uint64_t u64() {
    const std::uint64_t high = u32();
    return high << 32 | u32();
  }
  bool flag() { return (u8() & 1U) != 0; }
  // Returns -128 to 127.
  std::int32_t delta() { return static_cast<std::int8_t>(u8()); }
  // Returns a number in [0, bound). REQUIRES 0 < bound <= 65536.
  std::size_t below(std::size_t bound) { return (bound <= 256 ? u8() : u16()) % bound; }
  template <class T, std::size_t N>
  const T& one_of(const std::array<T, N>& list) {
    return list[below(N)];
  }
  // Returns the bytes that follow, at most `most`: their number comes first.
  base::Bytes bytes(std::size_t most) {
    const base::Bytes taken = rest_.first(std::min(below(most + 1), rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  base::Bytes rest_;
};

}  // namespace splitnic::support
