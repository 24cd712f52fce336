#include "control/config/version.h"

namespace splitnic::control {

std::string version_text(const std::string& program) { return program + " " SPLITNIC_VERSION; }

}  // namespace splitnic::control
