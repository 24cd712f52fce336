// splitnic-switch: a switch of the fabric between hosts and I/O units.

#include "base/log.h"
#include "control/identity.h"
#include "switch_module/daemon.h"

int main(int argc, char** argv) {
  // The name is not looked up again, which the sandbox would refuse.
  const auto parse = [argc, argv, machine = splitnic::control::machine_name()] {
    return splitnic::fabric_switch::parse(argc, argv, machine);
  };
  const auto outcome = parse();
  if (!outcome.options) {
    return splitnic::control::print_text(outcome.exit_code, outcome.text);
  }
  splitnic::base::set_log_level(outcome.options->common.log_level);
  return splitnic::fabric_switch::run(*outcome.options, {outcome.given, parse});
}
