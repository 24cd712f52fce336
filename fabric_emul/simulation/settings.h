// The parts of a simulated fabric apart from its topology, and when some of them fail. Times are
// simulated, in picoseconds, because a cell takes few nanoseconds on a fast link.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fabric_emul/routing/lane_layers.h"
#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric::simulation {

using SimTime = std::chrono::duration<std::int64_t, std::pico>;  // also the time since the start

// All cables and switches are alike.
struct Settings {
  std::uint64_t bits_per_second = 10'000'000'000;      // of each direction of a cable
  SimTime cable_delay = std::chrono::nanoseconds(50);  // 10 m
  SimTime switch_delay = std::chrono::nanoseconds(100);
  std::uint32_t cell_bytes = 292;   // on the wire: payload of 256, header, CRC and flit
  std::uint32_t header_bytes = 32;  // behind which a switch that cuts through forwards
  std::uint32_t buffer_cells = 16;  // of each input, for each lane
  std::uint32_t queue_cells = 16;   // of each node, for each lane: cells not yet in the fabric
  std::uint8_t lanes = 1;           // a flow uses one
  bool layers_lanes = false;        // each of these is a class of lanes, with a lane for each layer
  bool cuts_through = true;         // or stores a cell before it forwards it
  SimTime reroute_delay = std::chrono::microseconds(100);  // from a change to new tables

  std::uint8_t lanes_of_line() const {
    return layers_lanes ? static_cast<std::uint8_t>(lanes * kLaneLayers) : lanes;
  }
  SimTime cell_time() const { return time_of(cell_bytes); }
  SimTime header_time() const { return time_of(cuts_through ? header_bytes : cell_bytes); }

 private:
  SimTime time_of(std::uint64_t bytes) const {
    constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;
    const std::uint64_t bits = bytes * 8;
    // In two steps: the product with all of a second would not fit for slow links.
    const std::uint64_t whole = kPicosecondsPerSecond / bits_per_second * bits;
    const std::uint64_t rest = kPicosecondsPerSecond % bits_per_second * bits / bits_per_second;
    return SimTime(static_cast<std::int64_t>(whole + rest));
  }
};

// A cable, by one of the two ports that it joins; a node's, by the port of its switch; or a switch.
struct Change {
  SimTime at{};
  std::string of_switch;
  std::uint8_t port = 0;  // 0: the switch
  bool is_repair = false;
};

inline constexpr std::uint64_t kCellsMax = 1U << 26;  // in all buffers: 1.5 GiB
inline constexpr std::uint32_t kBufferCellsMax = 4096;
inline constexpr std::uint8_t kLanesMax = 16;

}  // namespace splitnic::fabric::simulation
