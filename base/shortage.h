// Errors by which the system reports that it is short of something, and not that what was asked of
// it is wrong: it may succeed later. [F-52]
#pragma once

#include <cerrno>

namespace splitnic::base {

inline bool is_shortage(int errno_value) {
  return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM ||
         errno_value == ENOBUFS;
}

}  // namespace splitnic::base
