// CHECK: our own bug stops the program, in release too. Never for what a peer or the environment
// did.
#pragma once

namespace splitnic::base {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}

#define CHECK(expression)        \
  (static_cast<bool>(expression) \
       ? void(0)                 \
       : ::splitnic::base::check_failed(#expression, __FILE__, __LINE__))
