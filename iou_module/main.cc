// splitnic-iou: lends the NIC of this machine to hosts on other machines.
#include "control/daemon/program.h"
#include "iou_module/iou_daemon.h"

int main(int argc, char** argv) {
  namespace program = splitnic::iou;
  return splitnic::control::run_program("splitnic-iou", argc, argv, program::parse, program::run);
}
