#include "conformance/report/reports.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace splitnic::conformance {

base::Result<Reports> Reports::open(const ReportPaths& paths) {
  Reports reports;
  for (const auto& [path, make] :
       {std::pair{paths.junit, &junit_of}, std::pair{paths.json, &json_of},
        std::pair{paths.html, &html_of}}) {
    if (path.empty()) continue;
    base::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return base::Error::from_errno("the report " + path, errno);
    reports.files_.push_back({path, make, std::move(fd)});
  }
  return reports;
}

base::Status Reports::write(const Report& report) {
  for (const File& file : files_) {
    const std::string text = file.make(report);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(file.fd.get(), text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return base::Error::from_errno("the report " + file.path, errno);
      done += static_cast<std::size_t>(count);
    }
  }
  return {};
}

}  // namespace splitnic::conformance
