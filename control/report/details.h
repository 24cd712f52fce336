// The details that `show --verbose` adds to a program, a peer or a link: names and values, in the
// order in which they are shown. A name is a key of the JSON; one that ends in _bytes or _seconds
// has that unit. Pure.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"

namespace splitnic::control {

using DetailValue = std::variant<std::string, std::uint64_t, bool>;
using Detail = std::pair<std::string, DetailValue>;
using Details = std::vector<Detail>;

// "0.2 s", "59 s", "3 min 5 s", "2 h 3 min", "9 d 4 h"
std::string span_text(base::Duration span);
// "812 bytes", "3.4 KiB", "12.0 MiB"
std::string size_text(std::uint64_t bytes);

// As people read them: the name without its unit, and the value with it.
std::string name_text(const Detail& detail);
std::string value_text(const Detail& detail);
// Returns a line of "  NAME: VALUE".
std::string detail_text(const Detail& detail);
boost::json::object details_json(const Details& details);

}  // namespace splitnic::control
