// A network namespace of a test's own, which ends with it.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace splitnic::support {

inline void run(const std::string& command) {
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

// Runs `body` where 10.9.9.1 is on d0, and a neighbour 10.9.9.2 behind it swallows everything.
// Returns false if there can be no such thing here.
template <class Body>
bool in_namespace(Body&& body) {
  bool made = false;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) return;
    made = std::system(
               "command -v tc >/dev/null && ip link set lo up && "
               "ip link add d0 type veth peer name d1 && "
               "ip address add 10.9.9.1/24 dev d0 && ip link set d0 up && ip link set d1 up && "
               "ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev d0 nud permanent") == 0;
    if (made) body();
  }).join();
  return made;
}

}  // namespace splitnic::support
