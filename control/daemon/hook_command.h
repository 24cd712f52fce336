// One command of a user, run by /bin/sh and waited for. Thread: any, in a process that has no other
// children to wait for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace splitnic::control {

struct HookCommand {
  std::string text;
  std::vector<std::string> environment;  // "NAME=VALUE"
  base::Duration limit;                  // then it is killed, with what it has started
  // Whether it survives the SIGTERM that a service manager sends to all that a service leaves.
  bool ignores_term = false;
};

// Calls `on_line` with each line that the command prints, and returns how it ended: "" if with
// status 0, else "ended with status 3", "was killed by signal 9", "took longer than 30 s and was
// killed", or "ended with a status that is not known" if this process ignores SIGCHLD. What the
// command leaves in the background is not read any more.
std::string run(const HookCommand& command, const std::function<void(std::string_view)>& on_line);

}  // namespace splitnic::control
