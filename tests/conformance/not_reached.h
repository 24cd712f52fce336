// The edges of the state tables that a run should reach and did not, one per line: a case that no
// longer drives its target there shows here.
#pragma once

#include <string>

#include "conformance/report/report.h"

namespace splitnic::conformance {

inline std::string not_reached(const Report& report) {
  std::string text;
  for (const TableCoverage& one : report.coverage) {
    for (const TableCoverage::Missing& missing : one.missing) {
      if (!missing.is_out_of_reach) text += one.table->name + ": " + missing.text() + "\n";
    }
  }
  return text;
}

}  // namespace splitnic::conformance
