// The wall clock jumps when somebody sets it, so no timer follows it [F-50]: the files below are
// the only ones of the product that read it. They show or record when something happened, number
// handshakes, or check that it is right. All others take the time from base::Clock.
#pragma once

#include "tests/tidy/text_rules.h"

namespace splitnic::tidy {

inline constexpr auto kWallClockUsers = std::to_array<std::string_view>({
    "base/event.h",
    "base/log.cc",
    "control/daemon/stamps.cc",
    "control/socket/event_stream.cc",
    "control/socket/server.cc",
    "fabric_emul/underlay/capture_underlay.cc",
    "lan_bridge/ports/file_port.cc",
    "tools/conform_ends.cc",
    "tools/doctor_checks.cc",
    "tools/monitor_command.cc",
});

inline Findings find_wall_clock(const SourceTree& tree, const std::string& what) {
  return find_pattern(
      tree, {"system_clock", "high_resolution_clock", "CLOCK_REALTIME", "gettimeofday", "time("},
      R"(\b(system_clock|high_resolution_clock|CLOCK_REALTIME|gettimeofday|time\((nullptr|NULL|0)\)))",
      what);
}

inline Findings check_wall_clock(const SourceTree& tree) {
  SourceTree others;
  std::ranges::copy_if(tree, std::back_inserter(others), [](const SourceFile& file) {
    return file.is_cpp() && !file.below("tests") && !is_one_of(file, kWallClockUsers);
  });
  return find_wall_clock(others, "the wall clock may jump: take the time from base::Clock");
}

// Every file that may read it does.
inline Findings check_wall_clock_users(const SourceTree& tree) {
  Findings findings;
  for (const std::string_view path : kWallClockUsers) {
    SourceTree user;
    std::ranges::copy_if(tree, std::back_inserter(user),
                         [&](const SourceFile& file) { return file.path == path; });
    if (!find_wall_clock(user, "").empty()) continue;
    findings.push_back(std::string(path) + ":1: does not read the wall clock: kWallClockUsers");
  }
  return findings;
}

}  // namespace splitnic::tidy
