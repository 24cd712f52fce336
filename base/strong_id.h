// Tagged integers (a Qpn is not a Psn) and N-bit sequence numbers that compare only by serial
// arithmetic.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace splitnic::base {

// An identifier: equality and order only, no arithmetic.
template <typename Tag, typename T>
struct StrongId {
  T value{};
  constexpr StrongId() = default;
  constexpr explicit StrongId(T v) : value(v) {}
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

// A sequence number of kBits bits that wraps. a - b is the signed distance (serial arithmetic),
// valid while the two are less than half the space apart.
template <typename Tag, unsigned kBits>
struct Serial {
  static_assert(kBits >= 2 && kBits <= 32);
  static constexpr std::uint32_t kMask =
      kBits == 32 ? 0xFFFFFFFFU : (std::uint32_t{1} << kBits) - 1U;
  std::uint32_t value{};
  constexpr Serial() = default;
  constexpr explicit Serial(std::uint32_t v) : value(v & kMask) {}
  friend constexpr bool operator==(const Serial&, const Serial&) = default;
  friend constexpr Serial operator+(Serial a, std::uint32_t n) { return Serial(a.value + n); }
  friend constexpr Serial operator-(Serial a, std::uint32_t n) { return Serial(a.value - n); }
  constexpr Serial& operator++() { return *this = *this + 1U; }
  // Signed distance from b to a.
  friend constexpr std::int32_t operator-(Serial a, Serial b) {
    const std::uint32_t d = (a.value - b.value) & kMask;
    constexpr std::uint32_t kHalf = std::uint32_t{1} << (kBits - 1);
    if constexpr (kBits == 32) return static_cast<std::int32_t>(d);
    return d < kHalf ? static_cast<std::int32_t>(d)
                     : static_cast<std::int32_t>(d) - static_cast<std::int32_t>(kMask) - 1;
  }
  friend constexpr bool before(Serial a, Serial b) { return (a - b) < 0; }
};

}  // namespace splitnic::base

template <typename Tag, typename T>
struct std::hash<splitnic::base::StrongId<Tag, T>> {
  std::size_t operator()(const splitnic::base::StrongId<Tag, T>& id) const noexcept {
    return std::hash<T>{}(id.value);
  }
};
