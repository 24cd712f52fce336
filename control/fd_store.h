// The descriptor store of the service manager: it keeps a descriptor of the program from one
// process of the service to the next, over a restart, an upgrade and a crash, and closes it when
// the service stops or has failed (FileDescriptorStoreMax= in systemd.service(5)). Its service file
// sets FDSTORE to the number of descriptors that it keeps, as systemd does from version 254 on;
// without it there is no store. Thread: the one that starts the program, before there are others.
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace splitnic::control {

bool has_fd_store();

// Has the service manager keep a copy of `fd` as `name`. A failure is one log line. REQUIRES
// has_fd_store(), and a name without ':'.
void store_fd(int fd, const std::string& name);
// The service manager closes what it keeps as `name`.
void forget_stored_fd(const std::string& name);

// Returns the descriptor that an earlier process of the service has stored as `name`, which the
// caller owns and no program inherits, or an invalid one if there is none. To be called once: it
// closes all others that the process was started with, and clears the environment of them
// (sd_listen_fds(3)).
base::UniqueFd take_stored_fd(const std::string& name);

}  // namespace splitnic::control
