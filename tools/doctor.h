// `splitnic doctor`: what keeps a host or an I/O unit of this machine from working, each with what
// to do. It changes nothing, and sends one datagram to the unit that is named. docs/CLI.md
#pragma once

#include <chrono>
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
// The way to the I/O unit at an endpoint udp://...: name, route, mtu, reply. Takes up to 3.5 s.
std::vector<Finding> examine_unit(const std::string& endpoint);
// The commands that permit the ports of the unit at ADDRESS:PORT, where the usual firewalls run.
std::string permit_ports(const std::string& address);

// The replies of a running program.
struct ProgramReplies {
  std::string stats;        // its counters; empty: it could not be asked
  std::string stats_later;  // the same when has_seen_copies() was awaited
  std::string show;         // as `show --json` prints it
  std::string nic;          // of a host: its frames at the I/O unit, as `ethtool -S rmon` has them
};
// Returns whether a second host of one identity has tried to connect between two times when
// counters were printed. Empty `before`: since the start. One that is there tries again within
// kCopyTriesWithin: INITIATION of a session comes every 2 s, plus up to a third.
bool has_seen_copies(const std::string& before, const std::string& now);
inline constexpr std::chrono::milliseconds kCopyTriesWithin{3000};
// Program or identity; of a host unit, mac and lan; path.
std::vector<Finding> examine_program(const std::string& name, const ProgramReplies& replies);

// Prints a line for each finding. Returns the exit status: 1 if one is not good. `unit` "": none;
// `socket` is as of --control, "": all programs of the machine.
int run_doctor(const std::string& socket, const std::string& unit);

}  // namespace splitnic::tools
