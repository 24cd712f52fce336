// Environment errors: one sentence that names the failure and the remedy; each level adds a
// context.
//   if (!s) return s.error().within("opening the LAN port eth1");
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <utility>

namespace splitnic::base {

class [[nodiscard]] Error {
 public:
  Error() = default;
  explicit Error(std::string text, int errno_value = 0)
      : text_(std::move(text)), errno_value_(errno_value) {}
  // "text: strerror(errno_value)"
  static Error from_errno(std::string text, int errno_value);

  Error within(const std::string& context) const {
    return Error(context + ": " + text_, errno_value_);
  }
  const std::string& text() const { return text_; }
  int errno_value() const { return errno_value_; }

 private:
  std::string text_;
  int errno_value_ = 0;
};

// Never thrown: boost requires it for value() on an error, which is a bug of the caller.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

template <typename T>
using Result = boost::system::result<T, Error>;
using Status = Result<void>;

}  // namespace splitnic::base
