// A network namespace of a test's own. Namespaces belong to threads, and each ends with its thread.
// Tests in one need root, and the commands that they run.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace splitnic::support {

inline void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

// Runs `body` in a new network namespace, in which no interface is up.
inline void in_namespace(const std::function<void()>& body) {
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << "this test needs root";
    body();
  }).join();
}

// Gives an interface that is up an IPv6 address, and returns when packets to it arrive. The kernel
// gives an address out before it has the local route to it: until then they leave by the interface.
inline void add_ipv6(const std::string& address, const std::string& device) {
  run("ip address add " + address + "/64 dev " + device +
      " nodad && timeout 20 sh -c 'until ip -6 route get " + address +
      " | grep -q ^local; do sleep 0.01; done'");
}

// The same where 10.9.9.1 is on d0, and a neighbour 10.9.9.2 behind it swallows everything.
inline void with_silent_neighbour(const std::function<void()>& body) {
  in_namespace([&] {
    run("ip link set lo up");
    run("ip link add d0 type veth peer name d1 && ip address add 10.9.9.1/24 dev d0 && "
        "ip link set d0 up && ip link set d1 up && "
        "ip neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev d0 nud permanent");
    if (!::testing::Test::HasFatalFailure()) body();
  });
}

}  // namespace splitnic::support
