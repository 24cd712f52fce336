// The names of values that users type and read, as a table: std::to_array<NamedValue<T>>({...}).
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace splitnic::base {

template <class T>
struct NamedValue {
  std::string_view name;  // from a literal
  T value;
};

// Returns nothing if the table has no such name. `table` is a range of NamedValue<T>.
template <class Table, class T = decltype(Table::value_type::value)>
constexpr std::optional<T> value_named(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &NamedValue<T>::name);
  if (found == std::ranges::end(table)) return std::nullopt;
  return found->value;
}

// REQUIRES that the table has the value. The text ends with 0.
template <class Table, class T = decltype(Table::value_type::value)>
const char* name_of(const Table& table, const T& value) {
  const auto found = std::ranges::find(table, value, &NamedValue<T>::value);
  CHECK(found != std::ranges::end(table));
  return found->name.data();
}

}  // namespace splitnic::base
