#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace splitnic::base {
void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, expression);
  std::abort();
}
}  // namespace splitnic::base
