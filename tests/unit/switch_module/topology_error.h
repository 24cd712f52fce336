// The error of the parser of topology files.
#pragma once

#include <string>

#include "switch_module/topology_file.h"

namespace splitnic::fabric_switch {

// "" if the text is right.
inline std::string error_of(const std::string& text) {
  const auto parsed = parse_topology(text);
  return parsed ? "" : parsed.error().text();
}

}  // namespace splitnic::fabric_switch
