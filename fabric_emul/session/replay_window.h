// The counters of records that have arrived [RFC 6479]: a bitmap of 8192 bits in a ring of words,
// so that the window moves by clearing words and never by shifting. One word is being cleared,
// hence a counter more than kSpan behind the highest is refused, new or not.
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace splitnic::fabric::session {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kBits = 8192;
  static constexpr std::uint64_t kSpan = kBits - 64;
  // Counters from here on are refused, so that none wraps.
  static constexpr std::uint64_t kCounterEnd = ~std::uint64_t{0} - kBits;

  enum class Verdict : std::uint8_t {
    kRefused,  // arrived before, too old, or at kCounterEnd or beyond
    kNew,
    kHighest,  // new, and higher than all before it
  };

  // Records that a counter arrived. REQUIRES that the record was authentic.
  Verdict accept(std::uint64_t counter);

 private:
  static constexpr std::uint64_t kWords = kBits / 64;

  std::uint64_t next_ = 0;  // the highest counter that arrived, plus one
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace splitnic::fabric::session
