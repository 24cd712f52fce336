// Integers stored big endian (all of our wire formats) or little endian (the virtio-net header).
// Alignment 1, so structs made of them have no padding; get() and set() compile to mov + bswap.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace splitnic::base {

template <std::unsigned_integral T, std::endian kOrder>
class EndianInteger {
 public:
  constexpr EndianInteger() = default;
  constexpr explicit EndianInteger(T v) { set(v); }
  constexpr T get() const { return swap(std::bit_cast<T>(raw_)); }
  constexpr void set(T v) { raw_ = std::bit_cast<Raw>(swap(v)); }

 private:
  using Raw = std::array<std::uint8_t, sizeof(T)>;
  static constexpr T swap(T v) {
    if constexpr (std::endian::native == kOrder || sizeof(T) == 1)
      return v;
    else if constexpr (sizeof(T) == 2)
      return __builtin_bswap16(v);
    else if constexpr (sizeof(T) == 4)
      return __builtin_bswap32(v);
    else
      return __builtin_bswap64(v);
  }
  Raw raw_{};
};

using Be16 = EndianInteger<std::uint16_t, std::endian::big>;
using Be32 = EndianInteger<std::uint32_t, std::endian::big>;
using Be64 = EndianInteger<std::uint64_t, std::endian::big>;
using Le16 = EndianInteger<std::uint16_t, std::endian::little>;

// Loads and stores at any address, for formats that are read word by word.
template <std::unsigned_integral T>
T load_be(const std::byte* at) {
  EndianInteger<T, std::endian::big> v;
  std::memcpy(&v, at, sizeof(T));
  return v.get();
}
template <std::unsigned_integral T>
void store_be(std::byte* at, T value) {
  const EndianInteger<T, std::endian::big> v(value);
  std::memcpy(at, &v, sizeof(T));
}

}  // namespace splitnic::base
