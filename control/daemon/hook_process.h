// The commands of --up and --down: --up runs once, when the program reports that its interface has
// its carrier for the first time, and --down when the program has ended after that, whether it was
// stopped, failed or was killed. A side process runs them, so neither a thread of the program nor
// its end waits for a command, and the program itself may start none. docs/CLI.md#hooks
//
// A command has the rights with which the program was started, and gains none if the program has a
// sandbox. What is run is fixed before the first datagram: the program passes the values of a few
// variables, of which others than harmless characters are replaced. Thread: made by the only thread
// of the program, then used by one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "control/daemon/side_process.h"

namespace splitnic::control {

struct Hooks {
  std::string up, down;  // for /bin/sh -c; "": none
  bool are_given() const { return !up.empty() || !down.empty(); }
};

class HookProcess {
 public:
  // A command that takes longer is killed, with what it has started.
  static constexpr base::Duration kLimit = std::chrono::seconds(30);
  // Names, without SPLITNIC_ in front, and values. Others than NAME, TAP, NETNS, UNIT, UNIT_NAME,
  // MTU and MAC are left out.
  using Variables = std::vector<std::pair<std::string, std::string>>;

  // `gains_no_rights`: a command gets no rights by programs that are set-user-ID or have
  // capabilities.
  static base::Result<std::unique_ptr<HookProcess>> begin(Hooks hooks, bool gains_no_rights,
                                                          base::Duration limit = kLimit);
  // Once, without waiting.
  void report_up(const Variables& variables);

 private:
  explicit HookProcess(std::unique_ptr<SideProcess> process) : process_(std::move(process)) {}

  std::unique_ptr<SideProcess> process_;
};

}  // namespace splitnic::control
