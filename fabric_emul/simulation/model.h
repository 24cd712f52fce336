// The parts of a simulated fabric and how they are joined: vertices (switches, then nodes), lines
// (one direction of a cable each) and the buffers at their ends. Data only; simulator.h moves
// cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "fabric_emul/simulation/settings.h"
#include "fabric_emul/simulation/timeline.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric::simulation {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

// A FIFO of cells: of an input and lane, or of a node and lane in front of its line. One cell
// leaves at a time, and its successor is considered when it has left.
struct InputBuffer {
  std::uint32_t vertex = 0;
  std::uint32_t fed_by = kNone;  // a line; none: the node itself
  std::uint8_t lane = 0;
  bool is_sending = false;
  std::uint32_t waits_for = kNone;     // the line that the first cell needs
  std::uint8_t waits_for_lane = 0;     // of that line
  std::uint32_t next_waiting = kNone;  // behind this one, for the same line and lane
  std::uint32_t first = 0, count = 0;
  std::vector<SimCell> cells;  // a ring, whose size is the capacity

  const SimCell& front() const { return cells[first]; }
  bool is_full() const { return count == cells.size(); }
  void push(const SimCell& cell, SimTime now) {
    CHECK(!is_full());  // the sender had a credit
    const std::size_t at = std::size_t{first} + count++;
    SimCell& last = cells[at < cells.size() ? at : at - cells.size()];
    last = cell;
    last.waits_since = now;
  }
  SimCell pop() {
    const SimCell cell = cells[first];
    first = first + 1 == cells.size() ? 0 : first + 1;
    --count;
    return cell;
  }
};

// Of the cells that a line carried: how long each was in the buffer from which it left.
struct WaitTimes {
  double sum_picoseconds = 0;
  SimTime longest{};

  void add(SimTime wait) {
    sum_picoseconds += static_cast<double>(wait.count());
    longest = std::max(longest, wait);
  }
};

struct Line {
  std::uint32_t from = 0, to = 0;           // vertices
  std::uint8_t from_port = 0, to_port = 0;  // of a switch; 0: of a node
  bool is_cut = false, is_up = true;        // cut: it failed; up: neither it nor an end failed
  bool to_node = false;
  std::uint8_t next_lane = 0;        // round robin
  std::uint32_t sends_from = kNone;  // the buffer whose cell is on its way out
  std::uint32_t life = 0;            // counts failures and repairs
  std::uint32_t first_buffer = 0;    // at `to`, one per lane in a row
  std::uint32_t first_lane = 0;      // in Model::outputs
  std::uint64_t cells = 0;           // sent until the senders stopped
  WaitTimes waits{};                 // of these
};

// A lane of a line at its sender.
struct OutputLane {
  std::uint32_t credits = 0;
  std::uint32_t first_waiting = kNone, last_waiting = kNone;  // buffers
};

class Model {
 public:
  Model(const Topology& topology, const Settings& settings);

  std::uint32_t node_vertex(std::uint16_t node) const {
    return static_cast<std::uint32_t>(switches + node);
  }
  bool is_switch(std::uint32_t vertex) const { return vertex < switches; }
  std::uint32_t line_at(std::uint32_t vertex, std::uint8_t port) const {
    return line_by_port[std::size_t{vertex} * (kSwitchPortsMax + 1) + port];
  }
  // The queue of a node.
  std::uint32_t queue_of(std::uint16_t node, std::uint8_t lane) const {
    return static_cast<std::uint32_t>(first_queue + std::size_t{node} * lanes + lane);
  }
  // The lane of that line on which a cell of this buffer leaves.
  std::uint8_t lane_on(const Line& line, const InputBuffer& buffer) const;
  std::string name_of(std::uint32_t vertex, std::uint8_t port) const;
  // The part that is up.
  SubnetGraph graph() const;

  std::size_t switches = 0, lanes = 1, first_queue = 0;
  std::vector<std::string> names;  // of vertices
  std::vector<bool> is_vertex_up;
  std::vector<Lid> node_lids;
  std::vector<Line> lines;  // a cable has two, one after the other
  std::vector<OutputLane> outputs;
  std::vector<InputBuffer> buffers;
  std::vector<std::uint32_t> line_by_port;  // by switch and port; of a node by port 0

 private:
  void add_cable(std::uint32_t a, std::uint8_t a_port, std::uint32_t b, std::uint8_t b_port,
                 const Settings& settings);
  void add_line(std::uint32_t from, std::uint8_t from_port, std::uint32_t to, std::uint8_t to_port,
                const Settings& settings);

  Lid lid_of(std::uint32_t at) const { return whole_.switches[at].lid; }

  SubnetGraph whole_;
  const bool layers_lanes_;
};

}  // namespace splitnic::fabric::simulation
