// Strings in JSON output. Boost.JSON escapes what JSON requires and writes all other bytes as they
// are; names of peers and files need not be UTF-8.
#pragma once

#include <boost/json/string.hpp>
#include <string_view>

namespace splitnic::control {

// Returns `text` with each byte that is not part of a UTF-8 sequence replaced by U+FFFD, so that
// the output always parses.
boost::json::string json_string(std::string_view text);

}  // namespace splitnic::control
