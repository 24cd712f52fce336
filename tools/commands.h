// The commands of `splitnic`: each is one request over a program's control socket. Each prints the
// reply, or one line on stderr, and returns the exit status.
#pragma once

#include <string>

#include "base/clock.h"
#include "control/socket/client.h"

namespace splitnic::tools {

inline constexpr base::Duration kReplyTimeout = std::chrono::seconds(5);
// A request to the I/O unit is tried three times, on each of up to eight queues.
inline constexpr base::Duration kNicReplyTimeout = std::chrono::seconds(15);

// With an empty `socket`, connects to the only one there is.
base::Result<control::Client> connect(const std::string& socket);
// The program that is named by its --name or by --control; "": neither is given. An error states
// what is wrong in what was typed for `command`.
base::Result<std::string> socket_of(const std::string& command, const std::string& node,
                                    const std::string& socket);
int ask_and_print(const std::string& socket, const control::Request& request,
                  base::Duration timeout = kReplyTimeout);
// Prints the reply of the program `socket`, or, with "", of every program in the default folder:
// tools/several_replies.h.
int ask_all_and_print(const std::string& socket, const control::Request& request);

int fail(const std::string& why);       // prints one line; exit status 1
int bad_usage(const std::string& why);  // prints one line; exit status 2

}  // namespace splitnic::tools
