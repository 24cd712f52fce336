// A region of memory of a test, and the bytes that fill it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric_emul/mem/placement.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric::testing {

inline std::byte pattern(std::size_t seed, std::size_t i) {
  return static_cast<std::byte>((i * 31 + i / 251 + seed * 101 + 7) & 0xFF);
}

// A registered region of a test.
struct Memory {
  std::vector<std::byte> bytes;
  MemoryHandle handle;
  VirtualAddress start;

  Sge sge(std::size_t offset = 0, std::size_t length = SIZE_MAX) const {
    Sge s;
    s.address = VirtualAddress(start.value + offset);
    s.length = static_cast<std::uint32_t>(std::min(length, bytes.size() - offset));
    s.lkey = handle;
    return s;
  }
  VirtualAddress at(std::size_t offset) const { return VirtualAddress(start.value + offset); }
  void fill(std::size_t seed) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(seed, i);
  }
  void clear() { std::ranges::fill(bytes, std::byte{0}); }
  bool is_zero() const {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
  }
};

}  // namespace splitnic::fabric::testing
