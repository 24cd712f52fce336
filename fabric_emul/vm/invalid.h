// The error of an argument that the caller got wrong.
#pragma once

#include <cerrno>

#include "base/status.h"

namespace splitnic::fabric {

inline base::Error invalid(const char* what) { return base::Error(what, EINVAL); }

}  // namespace splitnic::fabric
