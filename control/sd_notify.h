// Tells the service manager how far we are, if there is one: a datagram to the socket that
// NOTIFY_SOCKET names.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace splitnic::control {

// `socket`: a path, or '@' and an abstract name; "" (no service manager): OK, and nothing is sent.
base::Status notify(const std::string& socket, std::string_view state);

// To $NOTIFY_SOCKET. Failures are not worth stopping for: they are one log line.
void notify_ready();
void notify_stopping();

}  // namespace splitnic::control
