#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/crc32c.h"

namespace splitnic::base {
namespace {

constexpr std::uint64_t kUpperHalves = 1U << 2 | 1U << 6;  // of the AVX and AVX-512 registers

// XGETBV with 1 reports the parts of the registers that hold something.
bool can_report() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kStateLeaf = 13;
  return __builtin_cpu_supports("avx") != 0 &&
         __get_cpuid_count(kStateLeaf, 1, &a, &b, &c, &d) != 0 && (a & 1U << 2) != 0;
}

__attribute__((target("avx,xsave"))) std::uint64_t upper_halves_in_use() {
  return _xgetbv(1) & kUpperHalves;
}

__attribute__((target("avx"))) void clear_upper_halves() { _mm256_zeroupper(); }

// SSE code behind a CRC must not wait for registers that the CRC has left in use.
TEST(Crc32c, leaves_no_upper_half_of_a_vector_register_in_use) {
  if (!can_report()) return;
  const std::array<std::byte, 4096> bytes{};
  for (const std::size_t size : {8U, 96U, 97U, 256U, 1400U, 4096U}) {
    clear_upper_halves();
    ASSERT_NE(crc32c(Bytes(bytes).first(size)), 0U);
    EXPECT_EQ(upper_halves_in_use(), 0U) << size;
  }
}

}  // namespace
}  // namespace splitnic::base
#endif
