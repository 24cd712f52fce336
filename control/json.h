// Writes JSON on one line, in the order of the calls. Strings are escaped, and bytes that are not
// UTF-8 become U+FFFD, so that the output always parses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace splitnic::control {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  // REQUIRES an open object; a value, object or array must follow.
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& field(std::string_view name, std::string_view text) { return key(name).value(text); }
  JsonWriter& field(std::string_view name, std::uint64_t number) { return key(name).value(number); }
  const std::string& text() const { return out_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string out_;
  bool needs_comma_ = false;
};

std::string json_string(std::string_view text);  // with its quotes

}  // namespace splitnic::control
