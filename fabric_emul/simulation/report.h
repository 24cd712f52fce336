// The results of a simulation. Everything in it follows from topology, settings, workload and seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric_emul/simulation/histogram.h"
#include "fabric_emul/simulation/settings.h"

namespace splitnic::fabric::simulation {

// One direction of a cable, or of a node's link.
struct LineLoad {
  std::string from, to;     // a node, or SWITCH:PORT
  std::uint64_t cells = 0;  // that it carried until the senders stopped
  double utilisation = 0;   // 0 to 1, of that time
  // How long these cells were in front of it: from the time at which their switch could forward
  // them, or at which they entered the queue of their node, until it began to carry them.
  double wait_mean_picoseconds = 0;
  SimTime wait_longest{};
  bool is_up = true;  // at the end
};

// Of the delivered cells that crossed this number of lines.
struct HopsLatency {
  std::uint32_t hops = 0;
  std::uint64_t cells = 0;
  double mean_picoseconds = 0;
};

struct Losses {
  std::uint64_t on_cable = 0;   // in flight on a cable that failed
  std::uint64_t in_switch = 0;  // in a switch that failed
  std::uint64_t no_route = 0;   // the table of a switch had no port
  std::uint64_t hop_limit = 0;  // it circulated
  std::uint64_t sum() const { return on_cable + in_switch + no_route + hop_limit; }
};

struct Report {
  std::size_t switches = 0, nodes = 0, cables = 0;
  std::size_t senders = 0;
  SimTime duration{};          // for which the senders send
  SimTime ended{};             // when nothing was left that could happen, or a deadlock was found
  std::uint64_t offered = 0;   // cells
  std::uint64_t withheld = 0;  // offered, and not sent: the queue of the node was full
  std::uint64_t sent = 0;      // offered, less withheld
  std::uint64_t delivered = 0;
  std::uint64_t delivered_in_time = 0;  // before the senders stopped
  std::uint64_t in_flight = 0;          // at the end: sent, neither delivered nor lost
  Losses lost;
  std::uint64_t cell_hops = 0;       // lines that cells crossed
  std::uint64_t delivered_hops = 0;  // of the delivered ones
  Histogram latency;                 // from the queue of the sender to the receiver
  // By the number of hops, without those that no cell had.
  std::vector<HopsLatency> latency_by_hops;
  double bits_per_second = 0;       // delivered in time, of all nodes
  double line_bits_per_second = 0;  // of a line
  std::vector<LineLoad> lines;
  // Inputs that wait for each other in a circle, as SWITCH:PORT with its lane; empty: no deadlock.
  std::vector<std::string> deadlock;
  SimTime deadlock_at{};
};

}  // namespace splitnic::fabric::simulation
