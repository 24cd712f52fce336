// The key by which two programs prove to each other that they run on one machine: 128 random bits
// in a file that only processes of one user on one kernel can read, also across network namespaces.
// The first of them makes the file, which stays until the machine restarts; a program reads it at
// its start. Programs in containers with a /dev/shm each have different keys, and so have users.
// Thread: any. docs/protocol/init.md#payload-crc
#pragma once

#include <string>

#include "base/random.h"
#include "base/status.h"
#include "fabric_emul/link/siphash.h"

namespace splitnic::control {

inline constexpr const char* kMachineKeyFolder = "/dev/shm";

// Returns the key of this user on the kernel with this boot identifier, a hash of both. `folder`
// must be in a tmpfs, because other file systems may be shared between machines or outlive the
// kernel. `random` gives the bits of a new file. An error: the folder or the file is not as it
// must be, so that somebody else may know the key.
base::Result<fabric::SipKey> machine_key(const std::string& folder, const std::string& boot_id,
                                         base::Random& random);

// Returns the boot identifier of this kernel; "" if the kernel reports none.
std::string boot_id();

}  // namespace splitnic::control
