// The report files of a run. They are opened before it, so that a run is not lost to a file that
// cannot be written.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "conformance/report/report.h"

namespace splitnic::conformance {

// Paths; "": no such report.
struct ReportPaths {
  std::string junit{}, json{}, html{};
};

class Reports {
 public:
  // Makes or empties the files. An error: one cannot be written.
  static base::Result<Reports> open(const ReportPaths& paths);
  base::Status write(const Report& report);

 private:
  struct File {
    std::string path;
    std::string (*make)(const Report&);
    base::UniqueFd fd;
  };
  std::vector<File> files_;
};

}  // namespace splitnic::conformance
