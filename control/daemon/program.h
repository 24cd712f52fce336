// The main function of a program that runs until it is stopped.
#pragma once

#include <csignal>
#include <string>

#include "base/log.h"
#include "control/config/parse_outcome.h"
#include "control/daemon/report_exceptions.h"
#include "control/identity.h"

namespace splitnic::control {

// Reads the options by parse_options(argc, argv, machine), with the name of this machine, and calls
// run(options, source), where `source` reads them again for a reload. Returns the exit status.
template <class Parse, class Run>
int run_program(const std::string& program, int argc, char** argv, Parse parse_options, Run run) {
  return report_exceptions(program, [&] {
    // A reload that comes before the program listens to signals finds nothing to reload.
    static_cast<void>(std::signal(SIGHUP, SIG_IGN));
    // The name is not looked up again, which the sandbox would refuse.
    const auto parse = [=, machine = machine_name()] { return parse_options(argc, argv, machine); };
    const auto outcome = parse();
    if (!outcome.options) return print_text(outcome.exit_code, outcome.text);
    base::set_log_level(outcome.options->common.log_level);
    return run(*outcome.options, {outcome.given, parse});
  });
}

}  // namespace splitnic::control
