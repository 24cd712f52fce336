// Notifies the service manager, if there is one, that the program is ready, alive, reading its
// settings again or stopping, and what its state is in words: a datagram to the socket that
// NOTIFY_SOCKET names (sd_notify(3)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace splitnic::control {

// Sends `state` to `socket`: a path, or '@' and an abstract name. With "" (no service manager) it
// sends nothing and returns OK. The message carries the descriptor `fd`, unless it is -1.
base::Status notify(const std::string& socket, std::string_view state, int fd = -1);

// Send to $NOTIFY_SOCKET. A failure is one log line.
void notify_ready();
void notify_stopping();
// The settings are read again, until notify_ready().
void notify_reloading();
// REQUIRES a text without newline.
void notify_status(std::string_view text);
void notify_alive();

// Whoever started the program wants to hear of it, and starts it again when it fails.
bool has_service_manager();

// Returns how often to call notify_alive(): half of what the service manager waits before it
// restarts the program (sd_watchdog_enabled(3)). Nothing if it does not wait for that.
std::optional<base::Duration> watchdog_interval();

}  // namespace splitnic::control
