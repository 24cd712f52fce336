// splitnic-switch: a switch of the fabric between hosts and I/O units.
#include "control/daemon/program.h"
#include "switch_module/switch_daemon.h"

int main(int argc, char** argv) {
  namespace program = splitnic::fabric_switch;
  return splitnic::control::run_program("splitnic-switch", argc, argv, program::parse,
                                        program::run);
}
