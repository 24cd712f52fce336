// One run drawn from a seed: what the path does wrong, how large everything is, what happens in
// mid-traffic. Two phases: under faults nothing may go wrong in what arrives; then all is healed
// and what is sent must arrive within a time. The same seed and frame count give
// the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

namespace splitnic::sim {

enum class Event : std::uint8_t {
  kNothing,
  kShortBlackout,  // up to 2 s: no queue pair fails [L-31]
  kLongBlackout,   // 30 s: the pair may end, and comes back
  kRestartHost,    // [F-45]
  kRestartIou,     // [F-46]
  kRestartBoth,    // [F-47]
  kBlockLan,       // a port takes nothing for a while
  kBlockTap,
  kNewFaults,
  kNarrowPath,  // datagrams of the length in use are refused from now on
  kCount_
};
std::string_view name(Event event);

struct Scenario {
  WorldConfig world;
  bool has_faults = false;
  std::vector<Event> events;
  std::uint64_t frames = 1000;  // each way
  unsigned burst_max = 32;
  unsigned super_percent = 5;  // of the frames are super-frames
  std::size_t frame_bytes_max = 1526;
  std::size_t writes_max = SIZE_MAX;
};
Scenario draw(std::uint64_t seed, std::uint64_t frames);
std::string describe(const Scenario& scenario);

struct Outcome {
  std::string failure;  // empty: all is well
  std::uint64_t trace_hash = 0;
  std::uint64_t frames_arrived = 0;
  std::uint64_t iterations = 0;
  base::Duration virtual_time{};
  std::uint64_t pair_downs = 0;
  std::uint64_t hostile_acts = 0;
  std::uint64_t hostile_frames = 0;  // that reached the LAN or the host
};
Outcome run(const Scenario& scenario);
// Returns the number of frames that arrive in 8 ms at the LAN and at the host, summed over six
// worlds, when both ports have frames to read but for short pauses, on a path without faults that
// the seed chooses. A world in which a host does not attach adds nothing.
std::uint64_t goodput(std::uint64_t seed, Hostility hostility);
inline Outcome run_seed(std::uint64_t seed, std::uint64_t frames) {
  return run(draw(seed, frames));
}

}  // namespace splitnic::sim
