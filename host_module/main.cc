// splitnic-host: gives this machine a network interface whose NIC is in another machine.
#include "control/daemon/program.h"
#include "host_module/host_daemon.h"

int main(int argc, char** argv) {
  namespace program = splitnic::host;
  return splitnic::control::run_program("splitnic-host", argc, argv, program::parse, program::run);
}
