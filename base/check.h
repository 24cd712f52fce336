// CHECK stops the program at its own bug, in release builds too. Never used on input of a peer or
// for errors of the environment.
#pragma once

namespace splitnic::base {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}

#define CHECK(expression)        \
  (static_cast<bool>(expression) \
       ? void(0)                 \
       : ::splitnic::base::check_failed(#expression, __FILE__, __LINE__))
