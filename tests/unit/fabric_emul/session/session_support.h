// Bytes for the tests of the session layer.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "fabric_emul/session/crypto.h"
#include "fabric_emul/session/secret.h"

namespace splitnic::fabric::session {

using Buffer = std::vector<std::byte>;
using Datagrams = std::vector<Buffer>;

inline Buffer from_hex(std::string_view text) {
  Buffer bytes;
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != ' '; });
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(&digits[at], &digits[at] + 2, value, 16);
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

inline Bytes32 bytes32(std::string_view hex) {
  Bytes32 bytes{};
  std::ranges::copy(from_hex(hex), bytes.begin());
  return bytes;
}

// first, first + 1, ...
inline Bytes32 counted(unsigned first) {
  Bytes32 bytes{};
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(first++);
  return bytes;
}

inline Buffer random_bytes(base::Random& random, std::size_t count) {
  Buffer bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next32() >> 24);
  return bytes;
}

}  // namespace splitnic::fabric::session
