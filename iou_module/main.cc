// splitnic-iou: lends the NIC of this machine to hosts on other machines.
#include <cstdio>

#include "base/log.h"
#include "iou_module/daemon.h"

int main(int argc, char** argv) {
  const auto outcome = splitnic::iou::parse(argc, argv);
  if (!outcome.options) {
    std::fputs(outcome.text.c_str(), outcome.exit_code == 0 ? stdout : stderr);
    return outcome.exit_code;
  }
  splitnic::base::set_log_level(outcome.options->common.log_level);
  return splitnic::iou::run(*outcome.options);
}
