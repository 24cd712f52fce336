// `splitnic capture`: the frames that cross the interface of a running host or I/O unit, as pcapng.
// The program sends them over its control socket, and this writes them.
#pragma once

#include <string>
#include <vector>

#include "control/config/cli_app.h"

namespace splitnic::tools {

struct CaptureArguments {
  std::string interface;
  std::string write;
  std::string ring;
  std::string count = "0";
  std::string snap = "262144";
};

// Adds the commands, and returns those that have a program.
std::vector<CLI::App*> add_capture(CLI::App& app, CaptureArguments& into);
// `socket` is that of --control, or empty. Each returns the exit status.
int run_capture_start(const std::string& socket, const CaptureArguments& typed);
int run_capture_stop(const std::string& socket, const CaptureArguments& typed);

}  // namespace splitnic::tools
