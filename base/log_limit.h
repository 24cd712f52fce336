// Limits the lines of the log to kLogLinesPerCause of one cause and kLogLinesInAll of all in each
// second, so that no peer fills the disk or keeps a thread busy with lines. Lines that were left
// out of a second are reported in a later one, one line per cause. Events have larger limits
// (event_log.h). Pure: the time comes in with each call. Thread: one at a time. [H-4]
// docs/security.md
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace splitnic::base {

inline constexpr int kLogLinesPerCause = 10;
inline constexpr int kLogLinesInAll = 50;

// The place in the sources that logs. `file` outlives the program's last line.
struct LogCause {
  std::string_view file;
  std::uint32_t line = 0;
  friend auto operator<=>(const LogCause&, const LogCause&) = default;
};

class LogLimit {
 public:
  // In each second: lines of one cause, and of all.
  explicit LogLimit(int per_cause = kLogLinesPerCause, int in_all = kLogLinesInAll)
      : per_cause_(per_cause), in_all_(in_all) {}

  // Returns whether a line of this cause may be written now. Before the first line of a second it
  // calls report(line, count) for each cause that left out lines in a second before: the number of
  // lines, and the first of them. A report is to be written, and counts as a line of its cause.
  template <class Report>
  bool pass(const LogCause& cause, std::string_view line, Time now, Report&& report) {
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      lines_ = 0;
      for (auto& [other, state] : causes_) begin_second(state, report);
    }
    State& state = causes_[cause];
    if (state.lines < per_cause_ && lines_ < in_all_) {
      ++state.lines;
      ++lines_;
      return true;
    }
    if (state.left_out++ == 0) state.first_left_out = line;
    ++left_out_;
    return false;
  }
  // Of all seconds and causes.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct State {
    int lines = 0;  // in this second
    std::uint64_t left_out = 0;
    std::string first_left_out;
  };

  template <class Report>
  void begin_second(State& state, Report&& report) {
    state.lines = 0;
    if (state.left_out == 0) return;
    report(std::string_view(state.first_left_out), state.left_out);
    state.lines = 1;
    ++lines_;
    state.left_out = 0;
  }

  int per_cause_, in_all_;
  std::map<LogCause, State> causes_;  // as many as places that log
  Time second_{};                     // in which the last line came
  int lines_ = 0;                     // in this second
  std::uint64_t left_out_ = 0;
};

}  // namespace splitnic::base
