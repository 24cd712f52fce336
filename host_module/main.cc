// splitnic-host: gives this machine a network interface whose NIC is in another machine.
#include <cstdio>

#include "base/log.h"
#include "host_module/daemon.h"

int main(int argc, char** argv) {
  const auto outcome = splitnic::host::parse(argc, argv);
  if (!outcome.options) {
    std::fputs(outcome.text.c_str(), outcome.exit_code == 0 ? stdout : stderr);
    return outcome.exit_code;
  }
  splitnic::base::set_log_level(outcome.options->common.log_level);
  return splitnic::host::run(*outcome.options);
}
