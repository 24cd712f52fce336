// One field of a TOML file and the checks of its type and range. An error names the place, the
// field, the value and what it must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "control/config/toml.h"

namespace splitnic::control {

class TomlField {
 public:
  // `context` is where it is, for people: "[hosts.office] vlans". `value` outlives this.
  TomlField(const TomlValue& value, std::string context)
      : value_(value), context_(std::move(context)) {}

  const TomlPlace& at() const { return value_.at; }
  // "line L, column C: CONTEXT: why", without control characters.
  base::Error error(const std::string& why) const;
  // "CONTEXT: VALUE is not WHAT"
  base::Error is_not(const std::string& what) const;

  base::Result<std::uint64_t> number(std::uint64_t min, std::uint64_t max,
                                     const std::string& what) const;
  base::Result<bool> flag() const;
  base::Result<std::string> text(const std::string& what) const;
  // A whole number, or a string of one and K, M, G or T: powers of `unit`. `what` names the range.
  base::Result<std::uint64_t> size(std::uint64_t unit, std::uint64_t min, std::uint64_t max,
                                   const std::string& what) const;
  // Calls take(TomlField) for each element of a list, until one has an error.
  template <class Take>
  base::Status each(std::size_t max, const Take& take) const {
    if (auto list = check_list(max); !list) return list;
    for (const TomlValue& element : value_.inside) {
      if (base::Status taken = take(TomlField(element, context_)); !taken) return taken;
    }
    return {};
  }

 private:
  base::Status check_list(std::size_t max) const;

  const TomlValue& value_;
  std::string context_;
};

}  // namespace splitnic::control
