// Helpers of the messaging tests: messages from hex words and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/endian.h"
#include "messaging/wire/message_header.h"

namespace splitnic::messaging::test {

using Message = std::vector<std::byte>;
inline constexpr TransactionContext kGoldenContext{0x1122334455667788};

inline Message words(std::initializer_list<std::uint32_t> values) {
  Message out(values.size() * 4);
  std::byte* at = out.data();
  for (const std::uint32_t value : values) {
    base::store_be(at, value);
    at += 4;
  }
  return out;
}

inline std::string hex(base::Bytes bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    char text[4];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(bytes[i]));
    if (i != 0 && i % 4 == 0) out += ' ';
    out += text;
  }
  return out;
}

inline void set_word(Message& message, std::size_t word, std::uint32_t value) {
  base::store_be(message.data() + word * 4, value);
}

// The reason why T::parse() refuses the bytes; kCount_ if it does not.
template <typename T>
DropReason refusal(base::Bytes message) {
  const auto parsed = T::parse(message);
  return parsed ? DropReason::kCount_ : parsed.error();
}

}  // namespace splitnic::messaging::test
