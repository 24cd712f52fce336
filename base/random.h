// Random numbers: OsRandom (getrandom) in the daemons, SeededRandom in the simulator and in tests.
#pragma once

#include <cstdint>

#include "base/wide.h"

namespace splitnic::base {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  std::uint32_t next32() { return static_cast<std::uint32_t>(next() >> 32); }
  // Returns a number in [0, bound), by multiply-shift (Lemire 2019) without its rejection step; the
  // bias is below bound / 2^64. REQUIRES bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  // Returns true with probability parts_per_million / 10^6.
  bool chance_ppm(std::uint32_t parts_per_million) { return below(1'000'000) < parts_per_million; }
};

class OsRandom final : public Random {
 public:
  std::uint64_t next() override;
};

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small, fast, the same on every machine. Not for
// keys.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace splitnic::base
