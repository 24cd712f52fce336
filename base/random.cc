#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace splitnic::base {

std::uint64_t OsRandom::next() {
  std::uint64_t v = 0;
  CHECK(getrandom(&v, sizeof(v), 0) == static_cast<ssize_t>(sizeof(v)));
  return v;
}

}  // namespace splitnic::base
