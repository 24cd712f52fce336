// The files of docs/protocol/vectors, and the comparison of a codec with one of them: bytes to
// meaning, meaning to bytes, and what is refused. Numbers of 64 bits are hexadecimal text there.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "tests/tidy/source_tree.h"

namespace splitnic::support {

namespace json = boost::json;
using OwnedBytes = std::vector<std::byte>;

inline OwnedBytes bytes_of_hex(std::string_view hex) {
  OwnedBytes out;
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') digits += c;
  }
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(&digits[at], &digits[at] + 2, value, 16);
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

inline std::string hex_of_bytes(base::Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : bytes) {
    out += kDigits[std::to_integer<unsigned>(byte) >> 4];
    out += kDigits[std::to_integer<unsigned>(byte) & 0xF];
  }
  return out;
}

inline std::string wide(std::uint64_t value) {
  std::string digits(16, '0');
  for (auto at = digits.rbegin(); at != digits.rend(); ++at, value >>= 4)
    *at = "0123456789abcdef"[value & 0xF];
  return "0x" + digits;
}

// The members of a meaning, by name. A missing one fails the test by an exception.
inline std::string text(const json::object& from, const char* name) {
  return std::string(from.at(name).as_string());
}
template <typename T = std::uint32_t>
T number(const json::object& from, const char* name) {
  return from.at(name).to_number<T>();
}
inline std::uint64_t number64(const json::object& from, const char* name) {
  return std::stoull(text(from, name), nullptr, 16);
}
inline OwnedBytes bytes_at(const json::object& from, const char* name) {
  return bytes_of_hex(text(from, name));
}

struct Vector {
  std::string name;
  bool is_valid = false;
  bool is_canonical = true;  // a sender writes these bytes
  OwnedBytes bytes;
  json::object meaning;
  std::string error;  // of an invalid one
  std::string type;   // protobuf.json: the message
};

inline std::vector<Vector> load_vectors(const std::string& format) {
  std::ifstream in(tidy::find_root() / "docs/protocol/vectors" / (format + ".json"));
  const std::string file(std::istreambuf_iterator<char>(in), {});
  const json::value content = json::parse(file);
  std::vector<Vector> vectors;
  for (const json::value& value : content.at("vectors").as_array()) {
    const json::object& from = value.as_object();
    Vector one;
    one.name = text(from, "name");
    one.is_valid = from.at("valid").as_bool();
    one.is_canonical = !from.contains("canonical");
    one.bytes = bytes_at(from, "bytes");
    if (one.is_valid)
      one.meaning = from.at("meaning").as_object();
    else
      one.error = text(from, "error");
    if (from.contains("type")) one.type = text(from, "type");
    vectors.push_back(std::move(one));
  }
  EXPECT_FALSE(vectors.empty()) << format;
  return vectors;
}

// The result of reading bytes: their meaning, or the name of the cause for refusing them.
struct Read {
  std::string error;
  json::object meaning;
};
inline Read refused(std::string_view error) { return {std::string(error), {}}; }
inline Read understood(json::object meaning) { return {{}, std::move(meaning)}; }

// `read` takes a Vector and returns a Read; `write` takes a Vector and returns its bytes.
template <typename ReadIt, typename WriteIt>
void compare_with_vectors(const std::string& format, ReadIt read, WriteIt write) {
  for (const Vector& vector : load_vectors(format)) {
    SCOPED_TRACE(format + ": " + vector.name);
    const Read result = read(vector);
    EXPECT_EQ(result.error, vector.error);
    if (!vector.is_valid) continue;
    EXPECT_TRUE(result.meaning == vector.meaning) << json::serialize(result.meaning) << "\n"
                                                  << json::serialize(vector.meaning);
    if (vector.is_canonical) {
      EXPECT_EQ(hex_of_bytes(write(vector)), hex_of_bytes(vector.bytes));
    }
  }
}

}  // namespace splitnic::support
