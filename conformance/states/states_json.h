// docs/protocol/states.json as it is built in: conformance/CMakeLists.txt makes the definition of
// it.
#pragma once

#include <string_view>

namespace splitnic::conformance {

extern const std::string_view kStatesJson;

}  // namespace splitnic::conformance
