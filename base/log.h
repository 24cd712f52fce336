// Log lines for people: spdlog to stderr, at most kLinesPerSecond per cause. Under the journal of
// systemd a line begins with its priority instead of time and level, which the journal adds. Never
// called per frame.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace splitnic::base {

inline constexpr int kLinesPerSecond = 10;

// From the most lines to the fewest.
inline constexpr std::array<std::string_view, 4> kLogLevels = {"debug", "info", "warn", "error"};

// False if the name is none of kLogLevels.
bool set_log_level(std::string_view level);
void log_info(const std::string& line);
void log_warn(const std::string& line);
void log_error(const std::string& line);
void log_debug(const std::string& line);

// Lets kLinesPerSecond lines of one cause pass in each second, by the caller's clock.
class LogLimit {
 public:
  bool pass(Time now);

 private:
  Time second_{};
  int lines_ = 0;
};

}  // namespace splitnic::base
