// splitnic-host: gives this machine a network interface whose NIC is in another machine.
#include <csignal>

#include "base/log.h"
#include "control/identity.h"
#include "host_module/daemon.h"

int main(int argc, char** argv) {
  // A reload that comes before the program listens to signals finds nothing to reload.
  static_cast<void>(std::signal(SIGHUP, SIG_IGN));
  // The name is not looked up again, which the sandbox would refuse.
  const auto parse = [argc, argv, machine = splitnic::control::machine_name()] {
    return splitnic::host::parse(argc, argv, machine);
  };
  const auto outcome = parse();
  if (!outcome.options) {
    return splitnic::control::print_text(outcome.exit_code, outcome.text);
  }
  splitnic::base::set_log_level(outcome.options->common.log_level);
  return splitnic::host::run(*outcome.options, {outcome.given, parse});
}
