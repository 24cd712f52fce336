// One run of the loss sweep: writes of 64 KiB with immediate data between two adapters over a
// Bottleneck. Virtual time and seeded chance only, and integer results: any build gives
// the same.
#pragma once

#include <cstdint>

#include "tests/sim/loss/bottleneck.h"

namespace splitnic::sim {

struct LossFigures {
  std::uint64_t goodput_permille = 0;  // bytes written, of what the line carries in that time
  std::uint64_t again_permille = 0;    // retransmitted cells, of all that were sent
  std::uint64_t timeouts = 0;          // retransmission time-outs
  std::uint64_t p99_us = 0;            // from the first byte's turn to the completion
};

// `path` holds in both directions once the queue pairs are connected.
LossFigures run_loss(const PathConfig& path, std::uint64_t seed, std::size_t messages);

}  // namespace splitnic::sim
