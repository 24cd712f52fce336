// The version of this build.
#pragma once

#include <string>

namespace splitnic::control {

// "PROGRAM VERSION"
std::string version_text(const std::string& program);

}  // namespace splitnic::control
