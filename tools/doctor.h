// `splitnic doctor`: what keeps a host or an I/O unit of this machine from working, each with what
// to do. It changes nothing, and sends one datagram to the unit that is named. docs/CLI.md
#pragma once

#include <string>
#include <vector>

namespace splitnic::tools {

struct Finding {
  std::string subject;  // "tun", "route", ...
  bool is_good = true;
  std::string text;  // what is so; of one that is not good, with what to do
};

// Facts of the machine, as the user who asks has them: tun, capabilities, buffers, offloads, clock.
std::vector<Finding> examine_machine();
// The way to the I/O unit at an endpoint udp://...: name, route, mtu, reply.
std::vector<Finding> examine_unit(const std::string& endpoint);
// Counters of a running program, what `show --json` prints of it, and, of a host, its frames at the
// I/O unit as `ethtool -S rmon` prints them: program or identity; of a host unit and lan; path.
// Empty `stats`: it could not be asked.
std::vector<Finding> examine_program(const std::string& name, const std::string& stats,
                                     const std::string& show, const std::string& nic);

// Prints a line for each finding. Returns the exit status: 1 if one is not good. `unit` "": none;
// `socket` is as of --control, "": all programs of the machine.
int run_doctor(const std::string& socket, const std::string& unit);

}  // namespace splitnic::tools
