// The last resort of a main function. Errors of the environment are values (base/status.h), but
// Asio and the standard library report by an exception that the system has no descriptor, thread or
// memory left. Before a program serves anybody, that ends it with one line [F-52].
#pragma once

#include <functional>
#include <string>

namespace splitnic::control {

// Calls `body` and returns its exit status; of an exception kExitFailed, after a line on stderr.
int report_exceptions(const std::string& program, const std::function<int()>& body);

}  // namespace splitnic::control
