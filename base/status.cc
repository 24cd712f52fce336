#include "base/status.h"

#include <cstring>

#include "base/check.h"

namespace splitnic::base {

Error Error::from_errno(std::string text, int errno_value) {
  return Error(std::move(text) + ": " + std::strerror(errno_value), errno_value);
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  check_failed(error.text().c_str(), where.file_name(), static_cast<int>(where.line()));
}

}  // namespace splitnic::base
