// File descriptors that a message of a Unix socket passes to its receiver (SCM_RIGHTS).
#pragma once

#include <sys/socket.h>

#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/check.h"

namespace splitnic::base {

// The message will pass `descriptors`, of which there is at least one. `room` is that of its
// control data: it has CMSG_SPACE() of them, is aligned as a cmsghdr and outlives the call that
// sends the message.
inline void attach_descriptors(msghdr& message, std::span<const int> descriptors,
                               MutableBytes room) {
  CHECK(room.size() >= CMSG_SPACE(descriptors.size_bytes()));
  message.msg_control = room.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
}

}  // namespace splitnic::base
