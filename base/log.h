// Log lines for people: spdlog to stderr, limited by log_limit.h for each place that logs. Under
// the journal of systemd a line begins with its priority instead of time and level, which the
// journal adds. Never called per frame. Each line but those for debugging is an event (event.h).
//
// A call never waits for the reader of stderr: the thread that logs writes the line at once if the
// stream has room, and otherwise drops and counts it. A pipe that another process fills at that
// moment, and a file on a slow disk, are the exceptions. Thread: any. [H-4] docs/security.md
#pragma once

#include <array>
#include <boost/assert/source_location.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace splitnic::base {

// From the most lines to the fewest.
inline constexpr std::array<std::string_view, 4> kLogLevels = {"debug", "info", "warn", "error"};

// False if the name is none of kLogLevels.
bool set_log_level(std::string_view level);
// `at` is the cause, for the limits: leave it to the default.
void log_info(const std::string& line, const boost::source_location& at = BOOST_CURRENT_LOCATION);
void log_warn(const std::string& line, const boost::source_location& at = BOOST_CURRENT_LOCATION);
void log_error(const std::string& line, const boost::source_location& at = BOOST_CURRENT_LOCATION);
void log_debug(const std::string& line, const boost::source_location& at = BOOST_CURRENT_LOCATION);

// For a line on stderr that the program ends with: its priority under the journal, else "".
std::string_view error_priority();

// Lines since the start that were not written.
struct LogDrops {
  std::uint64_t limit = 0;    // too many in a second
  std::uint64_t blocked = 0;  // stderr had no room
};
LogDrops log_drops();

}  // namespace splitnic::base
